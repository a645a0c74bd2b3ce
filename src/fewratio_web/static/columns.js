// How each column is interpreted, and the user's corrections.
import { Problem } from "./api.js";
import { make } from "./dom.js";

export class Columns {
  // The options for a column: those of the command line, and their labels on the page.
  constructor(uses) {
    this.labels = { "": "automatic", ...uses };
    this.element = make("div", { hidden: true });
    this.clear();
  }

  // What was chosen, as options; one column can name the rows.
  get options() {
    const given = {};
    for (const [name, use] of Object.entries(this.uses)) {
      if (use === "id" && given.id) throw new Problem("Two columns are set to name the rows; only one can. Choose one.");
      given[use] = use === "id" ? name : [...given[use] ?? [], name];
    }
    return given;
  }

  clear() {
    this.uses = {};
    this.names = [];
    this.read = null;
    this.areApart = false;
    this.element.hidden = true;
    this.element.replaceChildren();
  }

  // Kept: what the user chose before the page was reloaded.
  show({ rows, columns, notes }, kept = null) {
    this.clear();
    this.names = columns.map(({ name }) => name);
    const total = rows.reduce((sum, each) => sum + each, 0);
    this.read = { tables: rows.length, rows: total };
    const lines = columns.map(({ name, kind, left_out: reason, note, is_refused: isRefused, examples }) => {
      const choose = make("select", {
        "aria-label": `Use ${name} as`,
        onchange: (event) => {
          if (event.target.value) this.uses[name] = event.target.value;
          else delete this.uses[name];
        },
      }, ...Object.entries(this.labels).map(([value, text]) => make("option", { value }, text)));
      // It would cause an error.
      const use = kept ? kept[name] : isRefused && "drop";
      if (use) choose.value = this.uses[name] = use;
      return make("tr", { class: reason ? "unused" : "" },
        make("th", { scope: "row" }, name),
        make("td", {}, reason ? `${isRefused ? "cannot be used as it is" : "not used"}: ${reason}` : note ? `${kind}; ${note}` : kind),
        make("td", { class: "examples" }, examples.join(", ")),
        make("td", {}, choose));
    });
    const heads = ["Column", "Read as", "First values", "Use as"].map((text) => make("th", { scope: "col" }, text));
    this.element.append(
      make("h3", {}, "Columns"),
      make("p", { class: "lead" }, `${total.toLocaleString("en")} rows in ${rows.length === 1 ? "one table" : `${rows.length} tables`}. Correct what is wrong, or leave it as it is.`),
      ...notes.map((note) => make("p", { class: "note" }, note)),
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Columns" },
        make("table", { class: "columns" }, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...lines))));
    this.element.hidden = false;
    this.areShared = columns.every(({ is_shared: isShared }) => isShared);
    this.areApart = !columns.some(({ is_shared: isShared }) => isShared);
  }
}
