// One question: files, columns, options, a button, progress, and the result.
import { cancelJob, readText, runJob, sendFile, startJob, watch } from "./api.js";
import { Columns } from "./columns.js";
import { make, showSeconds } from "./dom.js";
import { FileInput } from "./inputs.js";
import { showResult } from "./result.js";
import { SHARED } from "./tasks.js";

export class Panel {
  constructor(task, files, model = null) {
    Object.assign(this, { task, model, job: null, previews: 0, files });
    this.problem = make("p", { class: "problem", role: "alert", hidden: true });
    const onProblem = (text) => this.say(text);
    this.fileInputs = task.inputs.map((input) => new FileInput(input, () => this.changed(), onProblem));
    this.columns = new Columns();
    this.button = make("button", { type: "submit", class: "strong", disabled: true }, task.button);
    this.bar = make("progress", { "aria-label": "Progress" });
    this.doing = make("span", { role: "status" });
    this.cancel = make("button", { type: "button", class: "plain", onclick: () => this.job && cancelJob(this.job.id).catch((error) => this.say(error.message)) }, "Cancel");
    this.progress = make("div", { class: "row", hidden: true }, this.bar, this.doing, this.cancel);
    this.result = make("div", { hidden: true });
    this.stage = make("div");
    const example = make("button", { type: "button", class: "plain", disabled: true, onclick: async () => this.useExample(await files) }, `Use the example: ${task.example.text}`);
    files.then((found) => { example.disabled = !Object.values(task.example.files).every((id) => id in found); });
    this.element = make("div", {},
      make("h2", {}, task.title), make("p", { class: "lead" }, task.lead),
      make("form", { onsubmit: (event) => { event.preventDefault(); this.run(); } },
        make("div", { class: "drops" }, ...this.fileInputs.map(({ element }) => element)),
        make("div", { class: "row" }, example),
        this.columns.element,
        this.makeOptions(),
        make("div", { class: "row" }, this.button)),
      this.problem, this.progress, this.result,
      task.next ? this.makeUpload() : null,
      this.stage);
  }

  makeOptions() {
    this.fields = {};
    const labels = [...this.task.options, ...SHARED].map(({ name, label, type, ...rest }) => {
      const field = type === "column" ? make("select", {}, make("option", { value: "" }, "automatic")) : make("input", { type, ...Object.fromEntries(Object.entries(rest).map(([key, value]) => [key.toLowerCase(), String(value)])) });
      this.fields[name] = field;
      return make("label", {}, label, field);
    });
    const common = make("input", { type: "checkbox" });
    this.fields.common = common;
    return make("details", {}, make("summary", {}, "Options"),
      make("div", { class: "options" }, ...labels, make("label", {}, common, " Use only the columns that all tables have")));
  }

  // Whoever has a model need not learn one.
  makeUpload() {
    const upload = make("input", {
      type: "file", accept: ".model,.safetensors",
      onchange: async () => {
        this.say(null);
        try {
          this.goOn(await sendFile(upload.files[0]));
        } catch (error) {
          this.say(error.message);
        }
      },
    });
    return make("details", {}, make("summary", {}, "I have a model file already"), make("label", { class: "file-line" }, "Model: ", upload));
  }

  say(text) {
    this.problem.textContent = text ?? "";
    this.problem.hidden = !text;
  }

  useExample(files) {
    this.say(null);
    for (const input of this.fileInputs) input.set(files[this.task.example.files[input.key]]);
  }

  get inputs() {
    const ids = Object.fromEntries(this.fileInputs.map(({ key, file }) => [key, file?.id]));
    return this.model ? { ...ids, model: this.model.id } : ids;
  }

  get options() {
    const given = {};
    for (const [name, field] of Object.entries(this.fields)) {
      if (field.type === "checkbox") { if (field.checked) given[name] = true; }
      else if (field.value !== "") given[name] = field.type === "number" ? Number(field.value) : field.value;
    }
    return given;
  }

  async changed() {
    const isComplete = this.fileInputs.every(({ file }) => file);
    this.button.disabled = !isComplete;
    this.columns.clear();
    this.result.hidden = true;
    const number = ++this.previews;
    // The columns are the model's.
    if (!isComplete || this.model) return;
    const letters = ["a", "b"];
    const inputs = Object.fromEntries(this.fileInputs.map(({ file }, index) => [letters[index], file.id]));
    const { separator, decimal } = this.options;
    try {
      const job = await runJob({ verb: "columns", inputs, options: { ...(separator && { separator }), ...(decimal && { decimal }) } });
      if (number !== this.previews) return;
      const found = JSON.parse(await readText(job.files.find(({ name }) => name === "result.json").id));
      if (number !== this.previews) return;
      this.columns.show(found);
      this.fields.common.checked = !this.columns.areShared;
      this.fields.time?.replaceChildren(make("option", { value: "" }, "automatic"), ...this.columns.names.map((name) => make("option", { value: name }, name)));
    } catch (error) {
      if (number === this.previews) this.say(error.message);
    }
  }

  async run() {
    this.say(null);
    this.result.hidden = true;
    this.stage.replaceChildren();
    this.button.disabled = true;
    this.bar.removeAttribute("value");
    this.doing.textContent = "Starting…";
    this.progress.hidden = false;
    try {
      this.job = await startJob({ verb: this.task.verb, inputs: this.inputs, columns: this.columns.uses, options: this.options });
      const job = await watch(this.job, (news) => this.tell(news));
      await showResult(this.result, job);
      if (this.task.next) this.goOn(job.files.find(({ name }) => name.endsWith(".model")));
    } catch (error) {
      this.say(error.message);
    } finally {
      this.job = null;
      this.progress.hidden = true;
      this.button.disabled = false;
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
      const left = rate > 0 ? `, about ${showSeconds((total - step) / rate / 1000)} left` : "";
      this.doing.textContent = `${description}: ${step} of ${total}${left}`;
    }
  }

  goOn(model) {
    const next = new Panel(this.task.next, this.files, model);
    this.stage.replaceChildren(make("div", { class: "stage" }, make("p", { class: "note" }, `Model: ${model.name}`), next.element));
  }
}
