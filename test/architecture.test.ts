import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readSources, type Source } from "../scripts/house/read-sources.ts";

/**
 * The folders of src/ from the lowest layer to the highest, each with those that it may import in addition to itself
 * and the files of src/: a name stands for that folder and the folders in it, as far as they are lower.
 * docs/architecture.md says what each is for.
 */
const LAYERS = toLayers(`
platform/text:
platform/async:
platform/machine:
platform/shared-memory:
storage/archives:
observability: platform/text
platform/limits: platform observability
platform/net: platform/limits
platform/user-module: platform/text observability
tensor: platform/text platform/limits
tensor/signature: tensor
tensor/codecs: tensor platform/text platform/limits
tensor/media: tensor platform
text: platform/text platform/limits tensor
platform/native: platform observability
platform/processes: observability
platform/threads: platform observability tensor
platform/codec-host: platform tensor
storage: platform storage/archives observability tensor/codecs
storage/runtimes: platform storage observability
observability/tracing: platform/async observability tensor/codecs storage
access: platform observability tensor/codecs storage
drivers: platform storage/archives storage/runtimes observability tensor
hooks: platform observability tensor drivers
models: platform observability tensor text drivers
pipeline: platform observability tensor hooks models
hooks/host: platform observability tensor drivers hooks models pipeline
serving/plan: platform/text
serving: platform observability tensor hooks models pipeline serving/plan
serving/repository: platform storage observability tensor text drivers hooks models pipeline serving
http2: platform/limits platform/net
grpc: platform observability tensor access serving http2
proxy: platform observability tensor access serving http2
protocols: platform observability tensor access serving grpc proxy
client/remote: platform observability tensor access pipeline serving grpc protocols
client: platform observability tensor grpc protocols client
page: platform/text platform/limits observability tensor protocols client
observability/request-log: platform observability tensor pipeline serving protocols
tools/export: platform/text storage/runtimes tensor/codecs
tools/inspection: platform/text platform/codec-host tensor text drivers
tools/library: platform/text observability tensor drivers models
tools/replay: platform storage observability tensor serving protocols client
server: platform storage observability access tensor drivers hooks models pipeline serving grpc proxy protocols client tools/inspection
tools/comparison: platform observability tensor client server tools
tools/benchmark: platform observability tensor http2 grpc client server
tools/testing: platform observability tensor drivers hooks models pipeline serving server
tools/tuning: platform/text tools
cli: platform storage observability access tensor drivers models serving proxy protocols client server tools
`);

/** Packages that belong to folders. */
const OWNERS: Readonly<Record<string, readonly string[]>> = {
  "@grpc": ["protocols", "client"],
  express: ["proxy"],
  busboy: ["proxy", "protocols"],
  "onnxruntime-node": ["storage/runtimes", "drivers"],
  sharp: ["tensor/media"],
  koffi: ["platform/native", "storage/runtimes", "drivers"],
  yaml: ["tensor/codecs"],
  jose: ["storage", "access"],
  "@huggingface": ["text"],
  preact: ["page"],
  uplot: ["page"],
};

const FOLDERS = readdirSync("src", { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);
const SOURCES = readSources("src", "scripts", "bench");
/** A row of the page's table: a folder, its purpose, the file to begin with. */
const ROW = /^\| `([a-z0-9-]+)\/` \| .+ \| `([^`]+)` \|$/gm;

/** Resolves each row to the layers that the folder may import. */
function toLayers(text: string): ReadonlyMap<string, readonly string[]> {
  const layers = new Map<string, readonly string[]>();
  for (const row of text.trim().split("\n")) {
    const [folder = "", names = ""] = row.split(":");
    const permitted = (name: string) => [...layers.keys()].filter((lower) => isIn(name, lower));
    const lower = names.split(" ").filter(Boolean).map(permitted);
    if (lower.some((found) => found.length === 0)) throw new Error(`A name in this row is of no lower layer: ${row}`);
    layers.set(folder, lower.flat());
  }
  return layers;
}

function isIn(folder: string, path: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** The layer that a file is in: the innermost of its folders; undefined for files of src/, for others and packages. */
function layerOf(path: string): string | undefined {
  if (!path.startsWith("src/")) return undefined;
  return [...LAYERS.keys()].filter((layer) => path.startsWith(`src/${layer}/`)).sort((a, b) => b.length - a.length)[0];
}

/** Imports of files in layers that the condition refuses. */
function refusedImports(isRefused: (layer: string, imported: string) => boolean): string[] {
  return SOURCES.flatMap(({ path, imports }) => {
    const layer = layerOf(path);
    const refused = layer === undefined ? [] : [...imports].filter((imported) => isRefused(layer, imported));
    return refused.map((imported) => `${path} -> ${imported}`);
  });
}

test("a source is read by its syntax: what it imports, names, calls, declares and says", () => {
  const find = (name: string) => SOURCES.find(({ path }) => path === `scripts/house/${name}.ts`);
  expect(find("measures")?.imports).toEqual(new Set(["node:path", "scripts/house/read-sources.ts"]));
  const { names, calls, types, comments, casts, exports } = find("read-sources") as Source;
  expect(["readSources", "unstable"].map((name) => names.has(name))).toEqual([true, false]);
  const priorities = ["platform/limits/call-limits", "models/threads/start-priority", "access/rules/access-rules"];
  const isNamed = (name: string) => SOURCES.find(({ path }) => path === `src/${name}.ts`)?.names.has("priority");
  // A request's, a constant of node:os, a word of a file.
  expect(priorities.map(isNamed)).toEqual([true, false, false]);
  expect(["API", "sort"].map((name) => calls.has(name))).toEqual([true, false]);
  expect(types).toEqual(["Source"]);
  expect(comments()).toContain("/** Type assertions other than `as const`. */");
  expect(casts).toBe(1);
  expect(exports).toEqual({ all: 2, documented: 2 });
});

test("every folder of src/ is in a layer, and each layer has files", () => {
  expect(new Set([...LAYERS.keys()].map((layer) => layer.split("/")[0]))).toEqual(new Set(FOLDERS));
  const outside = SOURCES.filter(({ path }) => /^src\/[^/]+\//.test(path) && layerOf(path) === undefined);
  expect(outside.map(({ path }) => path)).toEqual([]);
  expect(new Set(SOURCES.flatMap(({ path }) => layerOf(path) ?? []))).toEqual(new Set(LAYERS.keys()));
});

test("the plan of what is served has no clock, chance, promise, file or log", () => {
  const plans = SOURCES.filter(({ path }) => path.startsWith("src/serving/plan/"));
  const impure = ["Promise", "AbortSignal", "setTimeout", "performance", "Date", "random", "process"];
  expect(
    plans.flatMap(({ path, names }) => impure.filter((name) => names.has(name)).map((n) => `${path}: ${n}`)),
  ).toEqual([]);
  expect(
    plans.flatMap(({ imports }) =>
      [...imports].filter((each) => !/^src\/(errors|platform\/text\/.*|serving\/plan\/.*)\.ts$/.test(each)),
    ),
  ).toEqual([]);
});

test("files import from the layers that their own may import from, and packages that belong to it", () => {
  const leadsElsewhere = (layer: string, imported: string) => {
    const other = layerOf(imported);
    return other !== undefined && other !== layer && LAYERS.get(layer)?.includes(other) !== true;
  };
  expect(refusedImports(leadsElsewhere)).toEqual([]);
  const ownersOf = (imported: string) => OWNERS[imported.split("/")[0] ?? ""];
  const isForeign = (layer: string, imported: string) => !ownersOf(imported)?.some((owner) => isIn(owner, layer));
  expect(refusedImports((layer, imported) => ownersOf(imported) !== undefined && isForeign(layer, imported))).toEqual(
    [],
  );
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

test("what several test files import has no hooks, which a shared process runs for the first of the files alone", () => {
  const names = readdirSync("test", { recursive: true, encoding: "utf8" }).filter((name) =>
    /(?<!\.test)\.ts$/.test(name),
  );
  const withHooks = names.filter((name) =>
    /^(?:before|after)(?:Each|All)\(/m.test(readFileSync(`test/${name}`, "utf8")),
  );
  // Only long tests open pages, and none of those shares its process.
  expect(withHooks).toEqual(["page/browser.ts"]);
});
