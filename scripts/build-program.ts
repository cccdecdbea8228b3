/**
 * Bundles the program, `src`, into `dist`: far fewer files than modules, since each
 * costs a process and each of its threads time to start.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type ChunkingContext, rolldown } from "rolldown";
import { ownUrls, placeUrls } from "./own-urls.ts";

const [SOURCE, BUILT] = [resolve("src"), resolve("dist")];
const entries = findEntries();
/**
 * Parts of the program that start as one, by the modules that import them. Modules
 * that the same parts need are in one file.
 */
const STARTS: Readonly<Record<string, readonly string[]>> = {
  client: ["client/client"],
  node: ["client/client", "client/node", "tools/benchmark/load/load-thread-entry"],
  start: ["cli/start", "cli/supervisor/supervisor"],
  help: ["cli/main"],
  embedded: ["index"],
  model: ["models/threads/run-model-thread", "drivers/onnx/onnx"],
  engine: ["drivers/onnx/native/native-engine"],
  processes: ["platform/processes/watched-child"],
  remote: ["client/remote/remote-pool"],
  hooks: ["hook-thread-entry", "models/images/image-thread-entry", "hooks/hooks", "drivers/driver"],
  codec: ["platform/codec-host/codec-thread-entry", ...entries.jobs],
  serve: [
    ...["cli/commands/serve-command", "server/server", "server/server-options", "server/protocols"],
    ...["grpc/grpc-server", "proxy/http-server"],
  ],
  quick: commands("completion", "doctor", "drivers", "hash", "new"),
  health: commands("health"),
  runtimes: commands("runtimes"),
  config: commands("config", "export"),
  models: commands("infer", "inspect"),
  tools: commands("bench", "client", "compare", "replay", "tune"),
};
/** Code that costs a start less than another file would. */
const SMALL_BYTES = 26000;

/** The modules that each part needs, by its name. */
type Needs = ReadonlyMap<string, Set<string>>;

let files: ReadonlyMap<string, string> | undefined;

const bundle = await rolldown({
  input: Object.fromEntries(entries.all.map((name) => [name, pathOf(name)])),
  external: /^[^./]/,
  platform: "node",
  tsconfig: "tsconfig.build.json",
  transform: { target: "node20.19" },
  plugins: [ownUrls],
  preserveEntrySignatures: "allow-extension",
  checks: { ineffectiveDynamicImport: false },
});
const { output } = await bundle.write({
  dir: BUILT,
  format: "esm",
  entryFileNames: "[name].js",
  chunkFileNames: "chunks/[name]-[hash].js",
  codeSplitting: {
    includeDependenciesRecursively: false,
    groups: [{ debugName: "starts", name: fileOf }],
  },
  comments: false,
});
await bundle.close();
for (const chunk of output) {
  if (chunk.type !== "chunk") continue;
  const path = join(BUILT, chunk.fileName);
  writeFileSync(path, placeUrls(chunk).replace(/[\u0080-\uffff]/g, toEscape));
}

/** An escape for a character: V8 keeps a text of ASCII in half of the memory, and reads it faster. */
function toEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/**
 * The name of the file that a module is in; null where the bundler may choose. What an
 * entry does, only who starts it wants.
 */
function fileOf(id: string, context: ChunkingContext): string | null {
  files ??= assignFiles(context);
  return id.endsWith("-entry.ts") ? null : (files.get(id) ?? null);
}

/**
 * The names of files by module. A file imports only files that at least the same parts
 * need, so that none waits for itself.
 */
function assignFiles(context: ChunkingContext): ReadonlyMap<string, string> {
  const needs = new Map(Object.entries(STARTS).map(([name, roots]) => [name, reach(roots.map(pathOf), context)]));
  for (const modules of byParts(needs).values()) shareSmall(modules, needs, context);
  const named = [...byParts(needs)].map(([parts, modules], index) => {
    const name = parts.includes(" ") ? `shared-${index}` : parts;
    return [...modules].map((id) => [id, name] as const);
  });
  return new Map(named.flat());
}

/** The modules of all parts, by the names of the parts that need them. */
function byParts(needs: Needs): Map<string, Set<string>> {
  const sorted = new Map<string, Set<string>>();
  for (const id of new Set([...needs.values()].flatMap((modules) => [...modules]))) {
    const parts = [...needs].flatMap(([name, modules]) => (modules.has(id) ? name : [])).join(" ");
    sorted.set(parts, (sorted.get(parts) ?? new Set()).add(id));
  }
  return sorted;
}

/**
 * Gives what would be a small file to all parts, but for web pages, which have no
 * modules of Node, and for the supervisor, which is to stay small; and not with packages.
 */
function shareSmall(modules: ReadonlySet<string>, needs: Needs, context: ChunkingContext): void {
  const all = reach([...modules], context);
  const others = [...needs].filter(([name]) => name !== "client" && name !== "start").map(([, needed]) => needed);
  const added = [...all].filter((id) => others.some((needed) => !needed.has(id)));
  const bytes = added.reduce((sum, id) => sum + (context.getModuleInfo(id)?.code?.length ?? 0), 0);
  if (bytes >= SMALL_BYTES || [...all].some((id) => !/^(?:[./]|node:)/.test(id))) return;
  for (const needed of others) for (const id of all) needed.add(id);
}

/** Modules with all that they import, packages too. */
function reach(roots: readonly string[], context: ChunkingContext): Set<string> {
  const reached = new Set(roots);
  for (const id of reached) for (const imported of context.getModuleInfo(id)?.importedIds ?? []) reached.add(imported);
  return reached;
}

function commands(...names: readonly string[]): readonly string[] {
  return names.map((name) => `cli/commands/${name}-command`);
}

function pathOf(name: string): string {
  return join(SOURCE, `${name}.ts`);
}

/**
 * The modules that are found by their names while the program runs: the command line, what the package exports, entries
 * of threads and processes, and those with work for codec threads.
 */
function findEntries(): { readonly all: readonly string[]; readonly jobs: readonly string[] } {
  const { exports } = JSON.parse(readFileSync("package.json", "utf8"));
  const exported = [...JSON.stringify(exports).matchAll(/"\.\/dist\/([^"]+)\.js"/g)].map(([, name]) => name as string);
  const threads: string[] = [];
  const jobs: string[] = [];
  for (const name of readdirSync(SOURCE, { recursive: true, encoding: "utf8" })) {
    if (!/(?<!\.d)\.ts$/.test(name)) continue;
    const text = readFileSync(join(SOURCE, name), "utf8");
    for (const [, thread, file] of text.matchAll(/threadEntry\("([^"]+)"\)|"(?:\.\.\/)+dist\/([\w/-]+)\.js"/g))
      threads.push((thread ?? file) as string);
    if (/= defineJob\(/.test(text)) jobs.push(name.slice(0, -".ts".length));
  }
  return { all: [...new Set(["cli/start", "cli/main", ...exported, ...threads, ...jobs])], jobs };
}
