// Tabs, each with its panel.
import { examples, pages } from "./api.js";
import { make } from "./dom.js";
import { Panel } from "./panel.js";

const tablist = document.getElementById("tabs");
const main = document.getElementById("panels");
// The questions, as the server describes them.
const described = await pages();
const names = described.pages.map(({ key }) => key);
const panels = {}, restored = new Set();
// Examples to start from, until there is something else to look at.
const PICTURED = ["compare", "outliers", "changes"];
const cards = make("ul", { class: "cards", "aria-label": "Examples" });
// Example files by id.
const files = examples().then(
  (found) => Object.fromEntries(found.map((file) => [file.id, file])),
  (error) => { main.prepend(make("p", { class: "problem", role: "alert" }, error.message)); return {}; });

for (const task of described.pages) {
  const name = task.key;
  tablist.append(make("button", {
    type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`,
    onclick: () => choose(name),
    onkeydown: (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = names[(names.indexOf(name) + step + names.length) % names.length];
      choose(next);
      document.getElementById(`tab-${next}`).focus();
    },
  }, task.tab));
  panels[name] = new Panel(task, files, described.uses);
  main.append(make("section", { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, hidden: true }, panels[name].element));
}

for (const task of described.pages.filter(({ key }) => PICTURED.includes(key))) {
  const run = async () => {
    choose(task.key);
    await panels[task.key].useExample();
    panels[task.key].run();
  };
  const picture = make("img", { src: `example-${task.key}.svg`, alt: "", width: 96, height: 48 });
  const text = make("span", {}, make("strong", {}, task.title), make("br"), `Try ${task.example.text}`);
  cards.append(make("li", {}, make("button", { type: "button", class: "card", onclick: run }, picture, text)));
}
document.querySelector("nav").before(cards);
main.addEventListener("used", () => { cards.hidden = true; });

function choose(chosen) {
  for (const name of names) {
    const tab = document.getElementById(`tab-${name}`);
    tab.setAttribute("aria-selected", String(name === chosen));
    tab.tabIndex = name === chosen ? 0 : -1;
    document.getElementById(`panel-${name}`).hidden = name !== chosen;
  }
  history.replaceState(null, "", `#${chosen}`);
  // Results from before the page was reloaded.
  if (!restored.has(chosen)) {
    restored.add(chosen);
    panels[chosen].restore();
  }
}

const ofAddress = () => (names.includes(location.hash.slice(1)) ? location.hash.slice(1) : names[0]);
addEventListener("hashchange", () => choose(ofAddress()));
choose(ofAddress());

await files;
document.body.dataset.ready = "yes";
