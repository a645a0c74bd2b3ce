"use strict";
(() => {
  const { config, specs, columns, charts } = JSON.parse(document.getElementById("charts").textContent);

  // Columns of equal length as rows.
  const rowsOf = (data) => {
    const names = Object.keys(data);
    return data[names[0]].map((_, i) => Object.fromEntries(names.map((name) => [name, data[name][i]])));
  };
  // Texts that recur are kept once, with their places.
  const columnAt = (place) => {
    const kept = columns[place];
    return Array.isArray(kept) ? kept : kept.places.map((i) => kept.texts[i]);
  };
  // ast: expressions are interpreted, so that no text is ever run as a script.
  const options = { ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: { disableDefaultStyle: true } };
  // A specification that many charts share is compiled once; later charts reuse the result.
  const compiled = [];
  // Long names in a legend go below each other, or they would be cut off.
  const fitted = (width, { sample = [] }) => {
    const needed = [...new Set(sample)].reduce((sum, name) => sum + 6 * String(name).length + 40, 0);
    if (needed < width) return options;
    const legend = { columns: 1, labelLimit: width - 80, layout: { top: { direction: "vertical" } } };
    return { ...options, config: { legend, axis: { titleLimit: width - 80 } } };
  };
  const embed = async (element, place, data) => {
    const values = rowsOf(data);
    const told = fitted(element.clientWidth, data);
    if (compiled[place] === undefined) {
      const first = window.vegaEmbed(element, { ...specs[place], config, data: { name: "rows", values } }, told);
      compiled[place] = first.then((result) => result.vgSpec);
      return;
    }
    const spec = await compiled[place];
    const filled = spec.data.map((each) => (each.name === "rows" ? { ...each, values } : each));
    await window.vegaEmbed(element, { ...spec, data: filled }, { ...told, mode: "vega" });
  };
  const draw = (element) => {
    observer.unobserve(element);
    if (element.dataset.drawn) return;
    element.dataset.drawn = "yes";
    const [spec, data] = charts[element.dataset.chart];
    // The surrounding element keeps the description, which Vega would overwrite.
    const inside = document.createElement("div");
    inside.setAttribute("aria-hidden", "true");
    element.replaceChildren(inside);
    embed(inside, spec, Object.fromEntries(Object.entries(data).map(([name, at]) => [name, columnAt(at)])));
  };
  const observer = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => draw(entry.target)),
    { rootMargin: "400px" },
  );
  const elements = document.querySelectorAll("[data-chart]");
  elements.forEach((element) => observer.observe(element));
  window.addEventListener("beforeprint", () => elements.forEach(draw));

  // The page of `fewratio serve` shows all of it.
  if (parent !== window) {
    document.body.classList.add("framed");
    new ResizeObserver(() => parent.postMessage({ height: document.documentElement.offsetHeight }, "*")).observe(document.documentElement);
  }

  const sizes = new ResizeObserver((entries) => entries.forEach(({ target }) => target.classList.toggle("wide", target.scrollWidth > target.clientWidth)));
  document.querySelectorAll(".scroll").forEach((element) => sizes.observe(element));

  for (const table of document.querySelectorAll("[data-searchable]")) {
    const body = table.querySelector("tbody");
    const rows = [...body.rows];
    // Keyboards have no minus sign.
    const texts = rows.map((row) =>
      [...row.cells].map((cell) => (cell.querySelector(".chart") ? "" : cell.textContent.toLowerCase().replaceAll("\u2212", "-"))).join("\n"),
    );
    const first = Number(table.dataset.first ?? rows.length);
    const close = () => {
      body.querySelectorAll(".opened").forEach((row) => row.remove());
      body.querySelectorAll("[aria-expanded]").forEach((button) => button.setAttribute("aria-expanded", "false"));
    };
    const search = table.querySelector(".search");
    const status = search.querySelector("[role=status]");
    // A few rows are seen at a glance.
    search.hidden = rows.length <= 10;
    search.querySelector("input").addEventListener("input", (event) => {
      const wanted = event.target.value.trim().toLowerCase();
      close();
      table.classList.toggle("searched", wanted !== "");
      rows.forEach((row, i) => (row.hidden = !texts[i].includes(wanted)));
      status.textContent = wanted ? `${rows.filter((row) => !row.hidden).length} of ${rows.length}` : "";
    });
    const headings = [...table.querySelectorAll("thead th")];
    headings.forEach((heading, column) => {
      if (!rows.length || rows[0].cells[column].querySelector(".chart")) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.replaceChildren(button);
      const isNumber = rows.some((row) => row.cells[column].dataset.value !== undefined);
      button.addEventListener("click", () => {
        const falls = heading.getAttribute("aria-sort") === "ascending";
        headings.forEach((other) => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", falls ? "descending" : "ascending");
        const key = (row) => row.cells[column].dataset.value ?? (isNumber ? Infinity : row.cells[column].textContent);
        const compare = isNumber ? (a, b) => key(a) - key(b) : (a, b) => key(a).localeCompare(key(b), "en", { numeric: true });
        close();
        const sorted = [...rows].sort((a, b) => (falls ? -1 : 1) * compare(a, b));
        sorted.forEach((row, i) => row.classList.toggle("rest", i >= first));
        body.append(...sorted);
      });
    });
    // The name of a column opens its distribution below the row.
    for (const row of rows.filter((row) => row.dataset.larger !== undefined)) {
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-expanded", "false");
      button.append(...row.cells[0].childNodes);
      row.cells[0].replaceChildren(button);
      button.addEventListener("click", () => {
        const opens = button.getAttribute("aria-expanded") === "false";
        button.setAttribute("aria-expanded", String(opens));
        if (!opens) return row.nextElementSibling.remove();
        const chart = document.createElement("div");
        chart.className = "chart";
        chart.setAttribute("role", "img");
        chart.setAttribute("aria-label", row.dataset.description);
        chart.dataset.chart = row.dataset.larger;
        const opened = document.createElement("tr");
        opened.className = "opened";
        opened.append(document.createElement("td"));
        opened.cells[0].colSpan = row.cells.length;
        opened.cells[0].append(chart);
        row.after(opened);
        draw(chart);
      });
    }
  }
})();
