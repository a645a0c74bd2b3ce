// On a phone, the rows of a table are cards (site.css): each cell has the name of its column.
addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll(".bd-article table.table")) {
    const names = [...table.querySelectorAll("thead th")].map((cell) => cell.textContent.trim());
    if (names.length < 2 || names.length > 12 || table.querySelector("tbody th, [rowspan], [colspan]")) continue;
    const labels = names.map((name) => name && !name.endsWith("?") ? `${name}:` : name);
    table.classList.add("cards");
    for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, place) => { cell.dataset.column = labels[place] ?? ""; });
  }
});
