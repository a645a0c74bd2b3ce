// Results from before in this session of the browser, with links to their reports while the server keeps them.
import { fileAddress } from "./api.js";
import { make } from "./dom.js";

const KEY = "earlier", MOST = 10;
const lists = {};

const read = () => JSON.parse(sessionStorage.getItem(KEY) ?? "[]");

// The list below a result; the newest one is the result itself.
export function makeEarlier(task) {
  lists[task.key] = make("details", { class: "earlier", hidden: true }, make("summary", {}, "Earlier results"), make("ul"));
  show(task.key);
  return lists[task.key];
}

export function remember(task, inputs, job) {
  const report = job.files.find(({ name }) => name === "report.html");
  if (!report) return;
  const names = inputs.filter(({ file }) => file).map(({ file }) => file.name).join(", ");
  const at = new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  sessionStorage.setItem(KEY, JSON.stringify([{ key: task.key, names, at, report: report.id }, ...read()].slice(0, MOST)));
  show(task.key);
}

function show(key) {
  const [, ...others] = read().filter((each) => each.key === key);
  lists[key].lastChild.replaceChildren(...others.map(({ names, at, report }) =>
    make("li", {}, make("a", { href: fileAddress(report), target: "_blank" }, `${at}: ${names}`))));
  lists[key].hidden = !others.length;
}
