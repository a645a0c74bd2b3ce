// What each tab asks for.
const permutations = { name: "permutations", label: "Permutations for the p-value", type: "number", min: 0, max: 100000, placeholder: "999" };
const table = (key, label, hint) => ({ key, label, hint });
const folder = [{ key: "folder", label: "Folder of tables", hint: "One file per dataset, all with the same columns.", isFolder: true }];

export const TASKS = {
  compare: {
    tab: "Compare", verb: "compare", button: "Compare",
    title: "How do two tables differ?",
    lead: "Which columns and rows differ, by how much, and whether that may be chance.",
    inputs: [table("a", "First table", "For instance, before"), table("b", "Second table", "For instance, after")],
    example: { text: "wines of two growers", files: { a: "example-grower_1", b: "example-grower_2" } },
    options: [permutations],
  },
  outliers: {
    tab: "Outliers", verb: "outliers", button: "Find outliers",
    title: "Which rows are outliers?",
    lead: "Rows that are unlike rows known to be normal, and in which columns.",
    inputs: [table("normal", "Normal rows", "Rows that are known to be as they should"), table("unlabelled", "Rows to judge", "For instance, today’s delivery")],
    example: { text: "a delivery of wine", files: { normal: "example-grower_1", unlabelled: "example-delivery" } },
    options: [{ name: "contamination", label: "Share of rows to flag (empty: chosen so that few normal rows are flagged)", type: "number", min: 0.001, max: 0.5, step: "any", placeholder: "automatic" }],
  },
  changes: {
    tab: "Changes", verb: "changes", button: "Find changes",
    title: "When did a series change?",
    lead: "The moments at which rows in the order of time became different; trends and seasons are not changes.",
    inputs: [table("series", "Series", "Rows in the order of time, or with a column of dates")],
    example: { text: "two years of a machine", files: { series: "example-machine" } },
    options: [
      { name: "time", label: "Column to sort by", type: "column" },
      { name: "level", label: "Test at this chance of a false alarm, such as 0.05", type: "number", min: 0.0001, max: 0.9999, step: "any", placeholder: "no test" },
    ],
  },
  weights: {
    tab: "Weights", verb: "weights", button: "Weigh rows",
    title: "Which weights make rows resemble others?",
    lead: "Weights of training rows, so that a model learned from them fits the rows it will be used on.",
    inputs: [table("train", "Rows to weigh", "For instance, training rows"), table("target", "Rows to resemble", "Rows the model will be used on")],
    example: { text: "a survey that reached the young", files: { train: "example-survey", target: "example-people" } },
    options: [{ name: "clip", label: "Largest ratio", type: "number", min: 0.000001, step: "any", placeholder: "none" }],
  },
  many: {
    tab: "Many datasets", verb: "compare-all", button: "Compare all",
    title: "How do many datasets relate?",
    lead: "Every dataset of a folder compared with every other one: which are alike, which stand apart.",
    inputs: folder,
    example: { text: "40 sensors", files: { folder: "example-sensors" } },
    options: [{ ...permutations, placeholder: "none" }],
  },
  train: {
    tab: "Train", verb: "train", button: "Learn", last: "Writing the model…",
    title: "Learn from related datasets, and judge a new one",
    lead: "A model of how such datasets differ: with it, a handful of rows of a new one is enough. Then judge a new dataset, or compare new tables, here or elsewhere.",
    inputs: folder,
    example: { text: "40 sensors, and a new one", files: { folder: "example-sensors" } },
    options: [],
    // What can be done with the model, and what each of them takes over.
    next: [
      {
        key: "judge", verb: "compare-all", button: "Judge", takes: ["folder", "model"],
        title: "Judge a new dataset",
        lead: "Is it unlike all that were learned from, and which of them are nearest? A few rows are enough.",
        inputs: [table("new", "New dataset", "For instance, a new sensor")],
        example: { text: "a new sensor, eight rows", files: { new: "example-sensor_41" } },
        options: [],
      },
      {
        key: "compare-new", verb: "compare", button: "Compare with the model", takes: ["model"],
        title: "Compare two new tables with the model",
        lead: "Two tables of the same kind as those it was learned from; a few rows are enough.",
        inputs: [table("a", "New table", "For instance, a new sensor"), table("b", "Another table", "For instance, another one, or one of those learned from")],
        example: { text: "two new sensors, eight rows each", files: { a: "example-sensor_41", b: "example-sensor_42" } },
        options: [permutations],
      },
    ],
  },
};

export const COMMON = "Use only the columns that all tables have";
export const SHARED = [
  { name: "separator", label: "Separator of columns", type: "text", maxLength: 2, placeholder: ", (tab in .tsv)" },
  { name: "decimal", label: "Decimal mark", type: "text", maxLength: 1, placeholder: "." },
  { name: "seed", label: "Seed of everything random", type: "number", min: 0, max: 4294967295, placeholder: "0" },
];
