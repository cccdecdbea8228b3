import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readSources, type Source } from "../scripts/house/read-sources.ts";

/**
 * The folders of src/ with those that each may import, in addition to itself and the files of src/, from the lowest
 * layer to the highest; docs/architecture.md says what each is for.
 */
const LAYERS = toLayers(`
text:
async:
observability: text
machine:
limits: text async observability machine
net: limits
shared-memory:
user-module: text observability
archives:
tensor: text
signature: tensor
codecs: text tensor limits
storage: text async observability machine user-module archives codecs
tracing: async observability codecs storage
access: text observability limits codecs storage
threads: text async observability tensor
codec-host: text async machine limits tensor threads
native: text async observability machine
processes: observability
runtimes: text async observability machine archives native storage
drivers: text async observability tensor signature machine user-module archives codecs native processes runtimes
inspection: text tensor drivers
media: text async limits tensor
hooks: text async observability tensor signature drivers
model-host: text async observability tensor signature machine limits media threads native processes drivers
pipeline: text async observability tensor signature limits codec-host hooks model-host
hook-host: text async observability tensor signature machine user-module threads drivers hooks model-host pipeline
serving: text async observability tensor signature limits hooks model-host pipeline
grpc: text async observability tensor net limits shared-memory access codecs serving
proxy: text async observability net limits shared-memory access codec-host serving
protocols: text async observability tensor signature net limits shared-memory access codecs codec-host serving media
  grpc proxy
remote: text async observability tensor signature limits access codec-host serving pipeline grpc protocols
client: text async observability tensor signature limits codecs grpc protocols remote
page: text tensor limits protocols observability client
request-log: text async observability tensor signature limits codecs codec-host pipeline serving protocols
repository: text async observability tensor signature codecs user-module storage drivers hooks model-host pipeline
  hook-host serving
export: text codecs runtimes
replay: text async observability tensor limits codecs protocols remote repository
server: text async observability tensor signature net limits shared-memory access codec-host serving machine threads
  storage drivers hooks model-host pipeline repository grpc proxy protocols remote request-log tracing
comparison: text async observability tensor signature client replay server
benchmark: text async observability tensor signature threads grpc server
testing: observability tensor user-module drivers hooks model-host pipeline repository server
tuning: text benchmark
cli: text async observability tensor signature net limits access codecs serving machine user-module native processes
  storage runtimes drivers inspection media model-host repository export proxy protocols client remote replay tracing
  request-log server comparison benchmark tuning
`);

/** Packages that belong to folders. */
const OWNERS: Readonly<Record<string, readonly string[]>> = {
  "@grpc": ["protocols", "remote", "client"],
  express: ["proxy"],
  busboy: ["proxy", "protocols"],
  "onnxruntime-node": ["runtimes", "drivers"],
  sharp: ["media"],
  koffi: ["native", "runtimes", "drivers"],
  yaml: ["codecs"],
  jose: ["storage", "access"],
  preact: ["page"],
  uplot: ["page"],
};

const FOLDERS = readdirSync("src", { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);
const SOURCES = readSources("src", "scripts", "bench");
/** A row of the page's table: a folder, its purpose, the file to begin with. */
const ROW = /^\| `([a-z-]+)\/` \| .+ \| `([^`]+)` \|$/gm;

function toLayers(text: string): ReadonlyMap<string, readonly string[]> {
  const rows = text.trim().replaceAll("\n  ", " ").split("\n");
  return new Map(
    rows.map((row) => {
      const [folder = "", lower = ""] = row.split(":");
      return [folder, lower.split(" ").filter(Boolean)];
    }),
  );
}

/** The folder of src/ that a file is in; undefined for other files, and for packages. */
function folderOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1];
}

/** Imports of files in folders that the condition refuses. */
function refusedImports(isRefused: (folder: string, imported: string) => boolean): string[] {
  return SOURCES.flatMap(({ path, imports }) => {
    const folder = folderOf(path);
    const refused = folder === undefined ? [] : [...imports].filter((imported) => isRefused(folder, imported));
    return refused.map((imported) => `${path} -> ${imported}`);
  });
}

test("a source is read by its syntax: what it imports, names, calls, declares and says", () => {
  const find = (name: string) => SOURCES.find(({ path }) => path === `scripts/house/${name}.ts`);
  expect(find("measures")?.imports).toEqual(new Set(["node:path", "scripts/house/read-sources.ts"]));
  const { names, calls, types, comments, casts, exports } = find("read-sources") as Source;
  expect(["readSources", "unstable"].map((name) => names.has(name))).toEqual([true, false]);
  expect(["API", "sort"].map((name) => calls.has(name))).toEqual([true, false]);
  expect(types).toEqual(["Source"]);
  expect(comments()).toContain("/** Type assertions other than `as const`. */");
  expect(casts).toBe(1);
  expect(exports).toEqual({ all: 2, documented: 2 });
});

test("the layers have every folder of src/, and each imports from lower ones alone", () => {
  const order = [...LAYERS.keys()];
  expect(order.toSorted()).toEqual(FOLDERS.toSorted());
  const upward = [...LAYERS].flatMap(([folder, lower]) =>
    lower.filter((name) => !order.slice(0, order.indexOf(folder)).includes(name)).map((name) => `${folder} -> ${name}`),
  );
  expect(upward).toEqual([]);
});

test("files import from the folders that their own may import from, and packages that belong to it", () => {
  const leadsElsewhere = (folder: string, imported: string) => {
    const other = folderOf(imported);
    return other !== undefined && other !== folder && LAYERS.get(folder)?.includes(other) !== true;
  };
  expect(refusedImports(leadsElsewhere)).toEqual([]);
  const ownersOf = (imported: string) => OWNERS[imported.split("/")[0] ?? ""];
  expect(refusedImports((folder, imported) => ownersOf(imported)?.includes(folder) === false)).toEqual([]);
  expect(refusedImports((_, imported) => ownersOf(imported) !== undefined).length).toBeGreaterThan(20);
});

test("scripts and benchmarks do not import each other: what both need is in test/helpers and test/fixtures", () => {
  const crossing = (folder: string, other: string) =>
    SOURCES.filter(({ path }) => path.startsWith(`${folder}/`)).flatMap(({ path, imports }) =>
      [...imports].filter((imported) => imported.startsWith(`${other}/`)).map((to) => `${path} -> ${to}`),
    );
  expect([...crossing("scripts", "bench"), ...crossing("bench", "scripts")]).toEqual([]);
});

test("docs/architecture.md has every folder of src/ in its table, and no other, each with a file that exists", () => {
  const rows = [...readFileSync("docs/architecture.md", "utf8").matchAll(ROW)];
  expect(rows.map(([, folder]) => folder).toSorted()).toEqual(FOLDERS.toSorted());
  const entries = rows.map(([, folder, entry]) => `src/${folder}/${entry}`);
  expect(entries.filter((entry) => !existsSync(entry))).toEqual([]);
});

test("the walk of one tensor names files that exist: at most 30 with either protocol", () => {
  const [, walk = ""] = /^## One tensor(.*?)^## /ms.exec(readFileSync("docs/architecture.md", "utf8")) ?? [];
  const files = [...walk.matchAll(/`([a-z/-]+\.ts)`/g)].map(([, file]) => `src/${file}`);
  const without = (protocol: string) => files.filter((file) => !file.startsWith(`src/protocols/${protocol}/`));
  expect(files.length).toBeGreaterThan(30);
  for (const other of ["kserve", "tensorflow-serving"]) expect(without(other).length).toBeLessThanOrEqual(30);
  expect(files.filter((file) => !existsSync(file))).toEqual([]);
});
