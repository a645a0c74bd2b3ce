// Inputs for files: choose, or drop.
import { COMPRESSED, TABLES, sendFile, sendFolder } from "./api.js";
import { make, newId } from "./dom.js";

async function filesBelow(entry, path) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ file, path: path + entry.name }];
  }
  const reader = entry.createReader();
  const found = [];
  // A reader gives a hundred at a time.
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
  constructor({ key, label, hint, isFolder }, onChange, onProblem) {
    Object.assign(this, { key, isFolder, onChange, onProblem, file: null });
    this.status = make("p", { class: "chosen", role: "status" });
    const heading = newId("place");
    const chosen = (input) => this.take([...input.files].map((file) => ({ file, path: file.webkitRelativePath || file.name })));
    const field = (text, attributes) => make("label", { class: "file-line" }, `${text} `,
      make("input", { type: "file", onchange: (event) => chosen(event.target), ...attributes }));
    const fields = isFolder
      ? [field("A folder:", { webkitdirectory: "", multiple: true }), field("or a zip file:", { accept: ".zip" })]
      : [field("File:", { accept: [...TABLES, ...COMPRESSED].join(",") })];
    this.element = make("section", {
      class: "drop", "aria-labelledby": heading,
      ondragover: (event) => { event.preventDefault(); this.element.classList.add("over"); },
      ondragleave: () => this.element.classList.remove("over"),
      ondrop: async (event) => {
        event.preventDefault();
        this.element.classList.remove("over");
        this.take(await dropped(event.dataTransfer));
      },
    }, make("h3", { id: heading }, label), make("p", {}, hint ?? ""), this.status, ...fields);
  }

  async take(files) {
    if (!files.length) return;
    this.set(null);
    this.onProblem(null);
    this.status.textContent = "Sending…";
    try {
      this.set(this.isFolder ? await sendFolder(files, (text) => { this.status.textContent = `Sending ${text}…`; }) : await sendFile(files[0].file));
    } catch (error) {
      this.status.textContent = "";
      this.onProblem(error.message);
    }
  }

  set(file) {
    this.file = file;
    this.element.classList.toggle("filled", file !== null);
    const count = file?.files ? ` (${file.files} files)` : "";
    this.status.textContent = file ? `✓ ${file.name}${count}` : "";
    this.onChange();
  }
}
