// Inputs for files: choose, or drop.
import { COMPRESSED, STATE, TABLES, joinFiles, sendFile, sendFiles, sendFolder } from "./api.js";
import { make, newId } from "./dom.js";

async function filesBelow(entry, path) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ file, path: path + entry.name }];
  }
  const reader = entry.createReader();
  const found = [];
  // A reader returns at most a hundred entries at a time.
  for (let batch; (batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject))).length;) {
    for (const each of batch) found.push(...await filesBelow(each, `${path}${entry.name}/`));
  }
  return found;
}

async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files].map((file) => ({ file, path: file.name }));
  return (await Promise.all(entries.map((entry) => filesBelow(entry, "")))).flat();
}

export class FileInput {
  constructor({ key, label, hint, reads, isSeveral, instead }, { onClear, onChange }) {
    const isFolder = reads === "folder", isState = reads === "state";
    Object.assign(this, { key, label, isFolder, isState, isSeveral, instead, onClear, onChange, file: null, isRefused: false, taken: 0 });
    this.status = make("p", { class: "chosen", role: "status" });
    this.order = make("ol", { class: "order", hidden: true });
    this.problem = make("p", { class: "problem", role: "alert", hidden: true });
    const heading = newId("place");
    const chosen = (input) => this.take([...input.files].map((file) => ({ file, path: file.webkitRelativePath || file.name })));
    const field = (text, attributes) => make("label", { class: "file-line" }, `${text} `,
      make("input", { type: "file", onchange: (event) => chosen(event.target), ...attributes }));
    const fields = isFolder
      ? [field("A folder:", { webkitdirectory: "", multiple: true }), field("or a zip file:", { accept: ".zip" })]
      : isState ? [field("Drop it here, or choose it:", { accept: STATE })]
      : [field(isSeveral ? "Drop files here, or choose them:" : "Drop a file here, or choose one:", { accept: [...TABLES, ...COMPRESSED].join(","), ...(isSeveral && { multiple: true }) })];
    this.element = make("section", {
      class: "drop", "aria-labelledby": heading,
      ondragover: (event) => { event.preventDefault(); this.element.classList.add("over"); },
      ondragleave: () => this.element.classList.remove("over"),
      ondrop: async (event) => {
        event.preventDefault();
        this.element.classList.remove("over");
        this.take(await dropped(event.dataTransfer));
      },
    }, make("h3", { id: heading }, label), make("p", {}, hint ?? ""), this.status, this.order, ...fields, this.problem);
  }

  async take(files) {
    if (!files.length) return;
    const number = ++this.taken;
    this.set(null);
    this.isZip = !this.isFolder && /\.zip$/i.test(files[0].file.name);
    this.onClear();
    this.status.textContent = "Sending…";
    try {
      const tell = (text) => { this.status.textContent = `Sending ${text}…`; };
      const sent = await (this.isFolder ? sendFolder(files, tell) : this.isSeveral ? sendFiles(files, tell) : sendFile(files[0].file));
      if (number !== this.taken) return;
      this.set(sent);
      this.onChange();
    } catch (error) {
      if (number === this.taken) this.refuse(error.message);
    }
  }

  // A state may be left out.
  get isUsable() {
    return (this.file !== null || this.isState) && !this.isRefused;
  }

  get isTable() {
    return this.file !== null && !this.isRefused && !this.isState;
  }

  // Several files, each with a button to move it up: a browser may give them in another order than that of time.
  listFiles() {
    const parts = this.file?.parts ?? [];
    this.order.hidden = !parts.length;
    this.order.replaceChildren(...parts.map((part, place) => make("li", {}, part.name, ...(place ? [make("button", {
      type: "button", "aria-label": `Move ${part.name} up`,
      onclick: () => {
        this.set(joinFiles([...parts.slice(0, place - 1), part, parts[place - 1], ...parts.slice(place + 1)]));
        this.onClear();
        this.onChange();
      },
    }, "↑")] : []))));
  }

  // A file that was sent has not been read yet.
  set(file) {
    Object.assign(this, { file, isRefused: false });
    if (file && this.isState) this.accept();
    else this.show(file ? `Reading ${file.name}…` : "");
  }

  accept() {
    const { name, files, parts } = this.file;
    this.show(`✓ ${parts ? `${parts.length} files, in this order:` : `${name}${files ? ` (${files} files)` : ""}`}`, true);
  }

  // Show what is wrong until another file is chosen.
  refuse(text) {
    this.isRefused = true;
    this.show("", false, text + (this.isZip ? " For a zip file of many tables, use the tab “Many datasets”." : ""));
  }

  show(status, isFilled = false, problem = "") {
    this.status.textContent = status;
    this.listFiles();
    this.element.classList.toggle("filled", isFilled);
    this.problem.textContent = problem;
    this.problem.hidden = !problem;
  }
}
