// One question: files, columns, options, a button, progress, and the result.
import { cancelJob, getJob, joinFiles, readText, runJob, sendModel, startJob, watch } from "./api.js";
import { Columns } from "./columns.js";
import { make, newId, showSeconds } from "./dom.js";
import { FileInput } from "./inputs.js";
import { makeEarlier, remember } from "./earlier.js";
import { showResult } from "./result.js";

const isExample = ({ file }) => file === null || [file.id].flat().every((id) => id.startsWith("example-"));
// Changing the separator or the decimal mark changes the columns.
const MARKS = ["separator", "decimal", "header"];

export class Panel {
  // Given: files from an earlier question, such as the model.
  constructor(task, files, uses, given = {}) {
    Object.assign(this, { task, given, job: null, previews: 0, isReading: false, isBusy: false, files, uses });
    this.problem = make("p", { class: "problem", role: "alert", hidden: true });
    const notice = { onClear: () => this.clear(), onChange: () => this.changed() };
    this.fileInputs = task.inputs.map((input) => new FileInput(input, notice));
    this.columns = new Columns(uses);
    const reason = newId("reason");
    this.button = make("button", { type: "submit", class: "strong", "aria-describedby": reason }, task.button);
    this.reason = make("span", { id: reason, class: "passed" });
    this.bar = make("progress", { "aria-label": "Progress" });
    this.doing = make("span", { role: "status" });
    this.passed = make("span", { class: "passed", "aria-hidden": "true" });
    this.cancel = make("button", { type: "button", class: "plain", onclick: () => this.job && cancelJob(this.job.id).catch((error) => this.say(error.message)) }, "Cancel");
    this.progress = make("div", { class: "row", hidden: true }, this.bar, this.doing, this.passed, this.cancel);
    this.result = make("div", { hidden: true });
    this.stage = make("div");
    this.clearStage();
    const example = make("button", { type: "button", class: "plain", disabled: true, onclick: () => this.useExample() }, `Use the example: ${task.example.text}`);
    files.then((found) => { example.disabled = !Object.values(task.example.files).flat().every((id) => id in found); });
    this.form = make("form", { onsubmit: (event) => { event.preventDefault(); this.run(); } },
      make("div", { class: "drops" }, ...this.fileInputs.map(({ element }) => element)),
      make("div", { class: "row" }, example),
      this.columns.element,
      this.makeOptions(),
      make("div", { class: "row" }, this.button, this.reason));
    this.asked = make("span", {});
    const change = make("button", { type: "button", class: "plain", onclick: () => { this.unfold(); this.form.querySelector("input, button").focus(); } }, "Change files or options");
    this.folded = make("div", { class: "row", hidden: true }, this.asked, change);
    this.element = make("div", {},
      make("h2", {}, task.title), make("p", { class: "lead" }, task.lead),
      this.form, this.folded, this.problem, this.progress, this.result, makeEarlier(task),
      task.next.length ? this.makeUpload() : null,
      this.stage);
    this.showReason();
  }

  makeOptions() {
    this.fields = {};
    // A model defines its columns.
    const options = this.task.options.filter(({ name }) => name !== "common" || !this.given.model);
    const labels = options.map(({ name, label, type, ...rest }) => {
      const given = Object.entries(rest).filter(([, value]) => value !== null).map(([key, value]) => [key, String(value)]);
      const choices = { column: { "": rest.placeholder }, switch: { "": rest.placeholder, true: "yes", false: "no" } }[type];
      const field = choices ? make("select", {}, ...Object.entries(choices).map(([value, text]) => make("option", { value }, text))) : make("input", { type, ...Object.fromEntries(given) });
      if (MARKS.includes(name)) field.addEventListener("change", () => this.readAgain());
      this.fields[name] = field;
      const replaced = this.fileInputs.find(({ instead }) => instead === name);
      if (replaced) {
        field.addEventListener("change", () => this.showReason());
        replaced.element.append(make("label", { class: "file-line" }, `${label} `, field));
        return null;
      }
      return type === "checkbox" ? make("label", {}, field, ` ${label}`) : make("label", {}, label, field);
    });
    return make("details", {}, make("summary", {}, "Options"), make("div", { class: "options" }, ...labels.filter(Boolean)));
  }

  // A user who has a model need not learn one.
  makeUpload() {
    const problem = make("p", { class: "problem", role: "alert", hidden: true });
    const upload = make("input", {
      type: "file", accept: ".model,.safetensors",
      onchange: async () => {
        problem.hidden = true;
        try {
          this.goOn({ model: await sendModel(upload.files[0]) });
        } catch (error) {
          problem.textContent = error.message;
          problem.hidden = false;
        }
      },
    });
    return make("details", {}, make("summary", {}, "I have a model file already"), make("label", { class: "file-line" }, "Model: ", upload), problem);
  }

  // Before there is a model, where the new table will go.
  clearStage() {
    this.stage.replaceChildren(...(this.task.next.length ? [make("div", { class: "drop later" },
      make("h3", {}, this.task.next[0].inputs[0].label), make("p", {}, "After “Learn”, or with a model file of yours, you choose the new table here."))] : []));
  }

  // Beside a result the form takes one line.
  fold() {
    this.asked.textContent = this.fileInputs.filter(({ file }) => file).map(({ file }) => file.name).join(", ");
    this.form.hidden = true;
    this.folded.hidden = false;
  }

  unfold() {
    this.form.hidden = false;
    this.folded.hidden = true;
  }

  say(text) {
    this.problem.textContent = text ?? "";
    this.problem.hidden = !text;
  }

  // The example's options are not those of other files.
  setExampleOptions(isUsed) {
    if (!isUsed && !this.hasExampleOptions) return;
    this.hasExampleOptions = isUsed;
    for (const [name, value] of Object.entries(this.task.example.options)) {
      const field = this.fields[name];
      if (isUsed || field.value === String(value)) field.value = isUsed ? value : "";
    }
  }

  async useExample() {
    const files = await this.files;
    for (const input of this.fileInputs) {
      const found = this.task.example.files[input.key].map((id) => files[id]);
      input.set(input.isSeveral ? joinFiles(found) : found[0] ?? null);
    }
    this.setExampleOptions(true);
    this.changed();
  }

  readAgain() {
    for (const input of this.fileInputs) if (input.file) input.set(input.file);
    this.changed();
  }

  // Which inputs are still needed: an option may replace one, once the columns to choose from are known.
  missing(areColumnsKnown = true) {
    return this.fileInputs.filter(({ isUsable, isRefused, instead }) => !isUsable && (isRefused || !instead || (areColumnsKnown && !this.fields[instead].value)));
  }

  // Why the button cannot be pressed, beside it.
  showReason() {
    // A column replaces a file only while there is none.
    for (const { instead, isUsable } of this.fileInputs) if (instead) this.fields[instead].disabled = isUsable;
    const missing = this.missing().map(({ label, instead }) => `“${label}”${instead && this.columns.names.length ? " or a column" : ""}`);
    const some = this.fileInputs.some(({ isTable }) => isTable) ? " too" : "";
    const reason = this.isBusy ? "Wait for the result, or cancel."
      : missing.length ? `Choose ${missing.join(" and ")}${some}.`
      : this.isReading ? "The columns are being read…"
      : this.columns.areApart ? "The tables share no column." : "";
    this.button.disabled = Boolean(reason);
    this.reason.textContent = reason;
  }

  get inputs() {
    const files = { ...this.given, ...Object.fromEntries(this.fileInputs.map(({ key, file }) => [key, file])) };
    return Object.fromEntries(Object.entries(files).filter(([, file]) => file).map(([key, file]) => [key, file.id]));
  }

  get options() {
    const given = {};
    for (const [name, field] of Object.entries(this.fields)) {
      if (field.disabled) continue;
      if (field.type === "checkbox") { if (field.checked) given[name] = true; }
      else if (field.value !== "") given[name] = field.type === "number" ? Number(field.value) : field.value;
    }
    return given;
  }

  setOptions(options = {}) {
    for (const [name, value] of Object.entries(options)) this.fields[name][typeof value === "boolean" ? "checked" : "value"] = value;
  }

  clear() {
    this.element.dispatchEvent(new Event("used", { bubbles: true }));
    this.unfold();
    this.previews += 1;
    this.say(null);
    this.isReading = false;
    this.columns.clear();
    this.result.hidden = true;
    this.showReason();
  }

  // Read the files so far; show their columns when all are there. Kept: what was chosen for them before.
  async changed(kept = null) {
    this.clear();
    if (!kept && !this.fileInputs.every(isExample)) this.setExampleOptions(false);
    const chosen = this.fileInputs.filter(({ isTable }) => isTable), files = chosen.map(({ file }) => file);
    const number = this.previews;
    const isShown = !this.missing(false).length && !this.given.model;
    if (!isShown && chosen.every(isExample)) {
      for (const input of chosen) input.accept();
      return;
    }
    this.isReading = chosen.length > 0;
    this.showReason();
    const found = await this.preview(chosen).catch((error) => error);
    const problems = found instanceof Error ? await this.problemsOf(chosen, found) : [];
    chosen.forEach((input, place) => {
      // Another file may have been chosen in the meantime.
      if (input.file === files[place]) { if (problems[place]) input.refuse(problems[place]); else input.accept(); }
    });
    if (number !== this.previews) return;
    this.isReading = false;
    if (found instanceof Error) {
      if (!problems.some(Boolean)) this.say(found.message);
    } else if (isShown) {
      this.columns.show(found, kept?.uses);
      if (this.fields.common) this.fields.common.checked = !this.columns.areShared;
      for (const { name, type, placeholder } of this.task.options) {
        if (type === "column") this.fields[name].replaceChildren(...["", ...this.columns.names].map((value) => make("option", { value }, value || placeholder)));
      }
      if (found.pairs && this.fields.paired) this.offerPairs(found.pairs);
      if (kept) this.setOptions({ ...(this.fields.common && { common: false }), ...kept.options });
    }
    this.showReason();
    if (this.columns.areApart) {
      const text = await this.apartFrom(chosen).catch(({ message }) => message);
      if (number === this.previews) this.say(text);
    }
  }

  // Both tables name the same rows.
  offerPairs({ column, n_shared: count }) {
    const compare = make("button", { type: "button", class: "plain", onclick: () => { this.fields.paired.value = column; this.run(); } }, "Compare the pairs");
    this.columns.element.append(make("div", { class: "row" }, make("p", { class: "note" }, `${count} values of “${column}” name a row of both tables.`), compare));
  }

  // How the columns of all tables together are interpreted.
  async preview(chosen) {
    const inputs = { tables: chosen.flatMap(({ file }) => file.id) };
    const options = Object.fromEntries(MARKS.filter((name) => this.fields[name].value).map((name) => [name, this.fields[name].value]));
    const job = await runJob({ verb: "columns", inputs, options: { ...options, batch: this.task.verb === "outliers" } });
    const found = JSON.parse(await readText(job.files.find(({ name }) => name === "result.json").id));
    return { ...found, notes: job.notes };
  }

  // The columns of tables that share none.
  async apartFrom(chosen) {
    const some = (names) => `${names.slice(0, 3).map((name) => `“${name}”`).join(", ")}${names.length > 3 ? "…" : ""}`;
    const needed = "at least one column of the same name is needed. Rename the columns in one of them, or check the separator under “Options”.";
    if (chosen.length === 1) return `The tables of ${chosen[0].file.name} share no column (they have ${some(this.columns.names)}); ${needed}`;
    const found = await Promise.all(chosen.map((input) => this.preview([input])));
    const each = chosen.map(({ file }, place) => `${file.name} has ${some(found[place].columns.map(({ name }) => name))}`);
    return `The tables share no column: ${each.join("; ")}; ${needed}`;
  }

  // Which of several files cannot be read, and why.
  async problemsOf(chosen, error) {
    if (error.what !== "failed") return [];
    if (chosen.length === 1) return [error.message];
    return Promise.all(chosen.map((input) => this.preview([input]).then(() => null, ({ message, what }) => (what === "failed" ? message : null))));
  }

  run() {
    for (const { key } of this.task.next) sessionStorage.removeItem(key);
    return this.follow(async () => {
      const job = await startJob({ verb: this.task.verb, inputs: this.inputs, options: { ...this.options, ...this.columns.options } });
      // To find the result when the page is reloaded.
      const files = Object.fromEntries(this.fileInputs.map(({ key, file }) => [key, file]));
      sessionStorage.setItem(this.task.key, JSON.stringify({ job: job.id, files, uses: this.columns.uses, options: this.options, read: this.columns.read }));
      return job;
    }, this.fileInputs.every(isExample) ? "example" : "empty");
  }

  // Show the last result and its files again, if the server still has them.
  async restore() {
    const { job: id, files, ...chosen } = JSON.parse(sessionStorage.getItem(this.task.key) ?? "{}");
    if (!id) return;
    const job = await getJob(id).catch(() => null);
    if (!job) { sessionStorage.removeItem(this.task.key); return; }
    for (const input of this.fileInputs) input.set(files[input.key]);
    this.setOptions(chosen.options);
    this.changed(chosen);
    await this.follow(async () => job, "restore");
  }

  // Watch a job until its result can be shown; `then` starts the next questions.
  async follow(start, then) {
    this.say(null);
    this.result.hidden = true;
    this.clearStage();
    this.unfold();
    this.isBusy = true;
    this.showReason();
    this.bar.removeAttribute("value");
    this.doing.textContent = "Starting…";
    this.progress.hidden = false;
    let began = performance.now();
    const showPassed = () => { this.passed.textContent = `${Math.floor((performance.now() - began) / 1000)} s`; };
    showPassed();
    const clock = setInterval(showPassed, 1000);
    try {
      this.job = await start();
      // It may have started before the page was loaded.
      began -= 1000 * (this.job.seconds ?? 0);
      showPassed();
      const job = await watch(this.job, (news) => this.tell(news));
      const { read } = JSON.parse(sessionStorage.getItem(this.task.key) ?? "{}");
      await showResult(this.result, { ...job, read }, then !== "restore");
      // A model is followed by more questions below the form.
      if (!this.task.next.length) this.fold();
      if (then !== "restore") remember(this.task, this.fileInputs, job);
      const model = job.files.find(({ name }) => name.endsWith(".safetensors"));
      if (this.task.next.length) this.goOn({ folder: this.fileInputs[0].file, model }, then);
    } catch (error) {
      this.say(error.message);
    } finally {
      clearInterval(clock);
      this.job = null;
      this.progress.hidden = true;
      this.isBusy = false;
      this.showReason();
    }
  }

  tell(job) {
    if (job === null) {
      this.doing.textContent = "The connection is lost; trying again…";
    } else if (job.progress === null) {
      this.doing.textContent = job.state === "queued" ? "Waiting for other jobs…" : "Working…";
    } else {
      const { description, step, total } = job.progress;
      this.bar.max = total;
      this.bar.value = step;
      this.began = description === this.began?.description ? this.began : { description, step, time: performance.now() };
      const rate = (step - this.began.step) / (performance.now() - this.began.time);
      const left = rate > 0 ? (total - step) / rate / 1000 : null;
      // The last steps report no progress.
      const isLast = step >= total || (left !== null && left < 0.1);
      this.doing.textContent = isLast ? this.task.last : `${description}: ${step} of ${total}${left ? `, about ${showSeconds(left)} left` : ""}`;
    }
  }

  // Ask the next questions, each with the files it inherits.
  goOn(given, then = "empty") {
    const tasks = this.task.next.filter(({ takes }) => takes.every((key) => given[key]));
    const panels = tasks.map((task) => new Panel(task, this.files, this.uses, Object.fromEntries(task.takes.map((key) => [key, given[key]]))));
    this.stage.replaceChildren(make("p", { class: "note" }, `Model: ${given.model.name}`), ...panels.map(({ element }) => make("div", { class: "stage" }, element)));
    if (then === "restore") for (const panel of panels) panel.restore();
    // The example continues to the answer.
    if (then === "example") panels[0].useExample().then(() => panels[0].run());
  }
}
