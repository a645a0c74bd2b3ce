// The result of a job: the report, files to save, and equivalent commands.
import { fileAddress, readText } from "./api.js";
import { make, showSeconds } from "./dom.js";

const TITLES = { "report.html": "Report (HTML)", "rows.csv": "Rows (CSV)", "result.json": "Numbers (JSON)", "answer.txt": "Answer (text)" };

// A report sends its height, so that only the page scrolls.
addEventListener("message", ({ source, data }) => {
  const frame = [...document.querySelectorAll("iframe.report")].find(({ contentWindow }) => contentWindow === source);
  if (frame && data?.height > 0) frame.style.height = `${Math.ceil(data.height) + 2}px`;
});

function lines(title, text, name) {
  const copy = make("button", {
    type: "button", class: "plain",
    onclick: async () => { await navigator.clipboard.writeText(text); copy.textContent = "Copied"; },
  }, "Copy");
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const save = make("a", { href: address, download: name }, "Save");
  return [make("h3", {}, title), make("pre", { tabindex: "0", role: "region", "aria-label": title }, text), make("div", { class: "row" }, copy, save)];
}

// What a model was learned from; the text of the command line has the columns, and the page has read the tables.
function learned(text, read) {
  const columns = text.match(/^columns +(.*)$/m)?.[1];
  const number = (count) => count.toLocaleString("en");
  return `Learned from ${read ? `${number(read.tables)} datasets, ${number(read.rows)} rows` : "the datasets"}.${columns ? ` ${columns}.` : ""}`;
}

// Scroll to a new result, but not to one that is shown again.
export async function showResult(place, job, isNew) {
  const heading = make("h3", { tabindex: "-1" }, `Result (${showSeconds(job.seconds)})`);
  const found = Object.fromEntries(job.files.map((file) => [file.name, file]));
  const shown = found["report.html"]
    ? make("iframe", { class: "report", title: "Report", sandbox: "allow-scripts allow-downloads", src: fileAddress(found["report.html"].id) })
    : make("p", {}, learned(await readText(found["answer.txt"].id), job.read));
  const links = job.files.map(({ id, name }) =>
    make("li", {}, make("a", { href: fileAddress(id), download: name }, TITLES[name] ?? `${name.endsWith(".fewratio") ? "State, for the next rows" : "Model"} (${name})`)));
  if (found["report.html"]) links.unshift(make("li", {}, make("a", { href: fileAddress(found["report.html"].id), target: "_blank" }, "Open the report in a new tab")));
  place.replaceChildren(
    heading,
    make("ul", { class: "downloads", "aria-label": "Save" }, ...links),
    ...job.notes.map((note) => make("p", { class: "note" }, note)),
    make("details", {}, make("summary", {}, "The same on the command line and in Python"),
      ...lines("Shell", `${job.shell}\n`, "same.sh"), ...lines("Python", job.python, "same.py")),
    shown);
  place.hidden = false;
  if (isNew) {
    heading.focus({ preventScroll: true });
    heading.scrollIntoView();
  }
}
