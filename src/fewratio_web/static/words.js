// Messages are those of the command line; its options are called here what the page calls them.
import { USES } from "./columns.js";
import { COMMON, SHARED } from "./tasks.js";

const COLUMNS = { drop: USES.drop, keep: USES.keep, id: USES.id, categorical: USES.category, numeric: USES.number };

export function wordsOf({ inputs, options }) {
  const fields = [...inputs.map(({ key, label }) => [key, label]), ...[...options, ...SHARED].map(({ name, label }) => [name, label])];
  const names = { ...Object.fromEntries(fields), ...COLUMNS, common: COMMON };
  const values = new Set([...options, ...SHARED].map(({ name }) => name));
  return (text) => text
    .replace(/\b([Pp])ass --([a-z]+) ('[^']*'|\S+?)(?=[.,;)]*(?:\s|$))/g, (said, first, name, value) =>
      (values.has(name) ? `${first === "P" ? "S" : "s"}et “${names[name]}” to ${value}` : said))
    .replace(/\b([Pp])ass --common\b/g, (_, first) => `${first === "P" ? "T" : "t"}ick “${COMMON}”`)
    .replace(/--([a-z]+)\b/g, (option, name) => (name in names ? `“${names[name]}”` : option))
    .replace(/\b([Nn])ame (it|one|the column|another column) in (?=“)/g, (_, first, what) => `${first === "N" ? "U" : "u"}se ${what} as `);
}
