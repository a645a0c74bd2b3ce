// A plain page of the OpenAPI description.
import { make } from "./dom.js";

const api = await (await fetch("api/v1/openapi.json")).json();
const main = document.getElementById("routes");
const schemas = api.components.schemas;

const typeOf = (schema = {}) => {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf ?? schema.oneOf) return (schema.anyOf ?? schema.oneOf).map(typeOf).join(" or ");
  if (schema.const) return schema.const;
  if (schema.enum) return schema.enum.join(", ");
  if (schema.type === "array") return `list of ${typeOf(schema.items)}`;
  if (schema.type === "object" && schema.additionalProperties) return `object of ${typeOf(schema.additionalProperties)}`;
  return schema.type ?? "anything";
};
const table = (heads, rows) => make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": heads[0] }, make("table", {},
  make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text)))),
  make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((text) => make("td", {}, text)))))));

for (const [path, methods] of Object.entries(api.paths)) {
  for (const [method, route] of Object.entries(methods)) {
    main.append(make("h2", {}, `${method.toUpperCase()} ${path}`), make("p", {}, route.description ?? route.summary));
    const parameters = (route.parameters ?? []).map(({ name, in: place, required, schema, description }) =>
      [name, place, typeOf(schema), required ? "yes" : "no", description ?? schema.description ?? ""]);
    if (parameters.length) main.append(table(["Parameter", "In", "Type", "Needed", "What"], parameters));
    const body = route.requestBody?.content["application/json"]?.schema;
    const answer = Object.entries(route.responses).find(([status]) => status.startsWith("2"));
    const answered = typeOf(answer?.[1].content?.["application/json"]?.schema);
    main.append(make("p", {}, `${body ? `Accepts ${typeOf(body)}. ` : ""}Returns ${answer?.[0]}: ${answered}.`));
  }
}
for (const [name, schema] of Object.entries(schemas)) {
  if (!schema.properties || name.includes("ValidationError")) continue;
  main.append(make("h2", {}, name), make("p", {}, schema.description ?? ""));
  main.append(table(["Field", "Type", "What"], Object.entries(schema.properties).map(([field, each]) => [field, typeOf(each), each.description ?? ""])));
}
document.body.dataset.ready = "yes";
