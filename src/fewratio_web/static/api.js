// The JSON API of this page.
const BASE = "api/v1";
// A test compares these with what the server accepts.
const LARGEST_MB = 200;
export const TABLES = [".csv", ".tsv", ".parquet", ".arrow", ".feather", ".fewratio", ".jsonl", ".ndjson", ".xlsx", ".npy", ".npz"];
export const STATE = ".fewratio";
export const COMPRESSED = [".gz", ".xz", ".zip"];
const LOST = "The server does not answer; it must be running. Start `fewratio serve` again if it has ended, then try again.";

export class Problem extends Error {
  // What: "lost", no answer; "failed", a job; otherwise the server refused to do it.
  constructor(detail, what = "refused") { super(detail); this.what = what; }
}

async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(`${BASE}/${path}`, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(LOST, "lost");
  }
  if (!response.ok) {
    const problem = await response.json().catch(() => ({}));
    throw new Problem(problem.detail ?? `The server answered ${response.status}. Try again.`);
  }
  return response;
}

const post = async (path, body, type) =>
  (await ask(path, { method: "POST", body, headers: { "content-type": type } })).json();
const named = (path, name) => `${path}?name=${encodeURIComponent(name)}`;
const bytes = "application/octet-stream";

function checkSize(file) {
  if (file.size > LARGEST_MB * 2 ** 20) {
    throw new Problem(`${file.name} has ${Math.round(file.size / 2 ** 20)} MB; at most ${LARGEST_MB} MB are allowed. Use the command line for it.`);
  }
}

export async function sendModel(file) {
  if (!/\.(model|safetensors)$/i.test(file.name)) throw new Problem(`${file.name} is not a model; expected a file that ends in .safetensors, as this page saves it (or .model). Choose another.`);
  return sendFile(file);
}

export async function sendFile(file) {
  checkSize(file);
  return post(named("files", file.name), file, bytes);
}

// Several tables as one, in their order.
export const joinFiles = (sent) => (sent.length === 1 ? sent[0] : { id: sent.map(({ id }) => id), name: sent.map(({ name }) => name).join(", "), parts: sent });

export async function sendFiles(files, tell) {
  const sent = [];
  for (const { file } of files) {
    tell(`${sent.length + 1} of ${files.length} files`);
    sent.push(await sendFile(file));
  }
  return joinFiles(sent);
}

// Only text may be compressed, and hidden files are left out.
const ENDINGS = [...TABLES, ...[".csv", ".tsv"].flatMap((text) => COMPRESSED.map((ending) => text + ending))];
const isTable = ({ path }) => ENDINGS.some((ending) => path.toLowerCase().endsWith(ending)) && !/(^|\/)(\.|__MACOSX\/)/.test(path);

// Files of a folder, each with its path below it, or one zip file.
export async function sendFolder(files, tell) {
  if (files.length === 1 && /\.zip$/i.test(files[0].file.name)) {
    checkSize(files[0].file);
    return post(named("folders", files[0].file.name), files[0].file, bytes);
  }
  const tables = files.filter(isTable);
  if (!tables.length) throw new Problem("The folder holds no table; expected one file per dataset, such as .csv or .parquet. Choose another folder.");
  const name = tables[0].path.includes("/") ? tables[0].path.split("/")[0] : "tables";
  const isInside = tables.every(({ path }) => path.startsWith(`${name}/`));
  let folder = await post(named("folders", name), "", bytes);
  for (const [number, { file, path }] of tables.entries()) {
    checkSize(file);
    tell(`${number + 1} of ${tables.length} files`);
    folder = await post(named(`folders/${folder.id}/files`, isInside ? path.slice(name.length + 1) : path), file, bytes);
  }
  return folder;
}

export const fileAddress = (id) => `${BASE}/files/${encodeURIComponent(id)}`;
export const readText = async (id) => (await ask(`files/${encodeURIComponent(id)}`)).text();
export const examples = async () => (await ask("examples")).json();
export const pages = async () => (await ask("pages")).json();
export const startJob = (request) => post("jobs", JSON.stringify(request), "application/json");
export const getJob = async (id, wait = 0) => (await ask(`jobs/${encodeURIComponent(id)}?wait=${wait}`)).json();
export const cancelJob = (id) => ask(`jobs/${id}`, { method: "DELETE" });

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

// Report the state of a job until it is over; retry a lost connection for a while.
export async function watch(job, tell) {
  let failures = 0;
  while (job.state === "queued" || job.state === "running") {
    try {
      job = await getJob(job.id, 20);
      failures = 0;
      tell(job);
    } catch (error) {
      if (error.what !== "lost" || ++failures > 15) throw error;
      tell(null);
      await pause(1);
    }
  }
  if (job.state !== "done") throw new Problem(job.message ?? "The job ended without a result. Try again.", "failed");
  return job;
}

export const runJob = async (request, tell = () => {}) => watch(await startJob(request), tell);
