/**
 * `npm run dev -- ARGUMENTS`: serves with these arguments of kserving, or a toy model without any, from the sources:
 * each change compiles the files that changed, and the page if it is made of one, and starts the server again. Every
 * module is a file of `dist` here, so that nothing else is compiled, the next time neither; `npm run build` bundles
 * them. Types are not checked.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import {
  existsSync,
  type FSWatcher,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  watch,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { build, type Plugin } from "esbuild";
import { bundlePage } from "./bundle-page.ts";

const SOURCE = "src";
const PAGE = join(SOURCE, "page");
const TOY = ["test/fixtures/models/half-plus-two.onnx"];
/** Milliseconds in which an editor writes the rest of what it saves. */
const QUIET_MS = 30;
/** A server that is about to be replaced waits for no one, and who edits it starts it again: one process less. */
const ENVIRONMENT = { KSERVING_SHUTDOWN_DELAY: "0", KSERVING_DRAIN_TIMEOUT: "1", KSERVING_SUPERVISOR: "false" };
/** Says which files are compiled; the build removes it with all of `dist`. */
const STATE = "dist/dev.json";
/** Files by which others are compiled. */
const RULES = ["scripts/dev.ts", "scripts/bundle-page.ts", "tsconfig.build.json", "package-lock.json"];

interface Compiled {
  /** Times of change, in milliseconds, by the files' paths. */
  readonly times: Readonly<Record<string, number>>;
  /** Files that the page is made of. */
  readonly page: readonly string[];
}

/** Leaves every import to Node.js, by the name of the compiled file. */
const separate: Plugin = {
  name: "separate",
  setup: ({ onResolve }) => {
    onResolve({ filter: /^\.{1,2}\// }, ({ path, kind }) =>
      kind === "entry-point" ? undefined : { path: path.replace(/\.ts$/, ".js"), external: true },
    );
  },
};

const args = process.argv.length > 2 ? process.argv.slice(2) : TOY;
const bell = new EventEmitter();
const rules = RULES.map((path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs);
const compiled = readState();
const times = new Map(Object.entries(compiled?.times ?? {}));
let page = new Set(compiled?.page);
const watchers = new Map<string, FSWatcher>();
let server: ChildProcess | undefined;

process.on("SIGINT", () => void leave());
process.on("SIGTERM", () => void leave("SIGTERM"));
for (let unfinished: readonly string[] = []; ; ) {
  const changed = changedFiles();
  if (changed.length > 0 || (server === undefined && unfinished.length === 0))
    unfinished = await rebuild([...new Set([...unfinished, ...changed])]);
  else {
    await once(bell, "change");
    await setTimeout(QUIET_MS);
  }
}

/** Files that are new or not as they were at the last look; new folders are watched from now on. */
function changedFiles(): readonly string[] {
  const entries = readdirSync(SOURCE, { recursive: true, withFileTypes: true });
  const paths = entries.map((entry) => ({ entry, path: join(entry.parentPath, entry.name) }));
  for (const folder of [SOURCE, ...paths.filter(({ entry }) => entry.isDirectory()).map(({ path }) => path)])
    if (!watchers.has(folder)) watchers.set(folder, watchFolder(folder));
  return paths.filter(({ entry, path }) => entry.isFile() && isChanged(path)).map(({ path }) => path);
}

function watchFolder(folder: string): FSWatcher {
  const watcher = watch(folder, () => bell.emit("change"));
  // The folder is gone.
  watcher.on("error", () => watchers.delete(folder));
  return watcher;
}

function isChanged(path: string): boolean {
  const time = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  if (time === undefined || times.get(path) === time) return false;
  times.set(path, time);
  return true;
}

/** Compiles files and starts the server again; returns those that are to be compiled with the next change. */
async function rebuild(files: readonly string[]): Promise<readonly string[]> {
  const started = performance.now();
  const isOfPage = (file: string) => page.size === 0 || page.has(file) || file.startsWith(PAGE);
  try {
    const [, bundled] = await Promise.all([
      compile(files.filter((file) => existsSync(file))),
      files.some(isOfPage) ? bundlePage() : undefined,
    ]);
    page = new Set(bundled ?? page);
    writeState({ times: Object.fromEntries(times), page: [...page] });
  } catch {
    console.error("not compiled, as said above; the server goes on as it was");
    return files;
  }
  console.error(`compiled ${files.length} files in ${Math.round(performance.now() - started)} ms`);
  await stop();
  server = spawn(process.execPath, ["bin/kserving.cjs", ...args], {
    stdio: "inherit",
    env: { ...ENVIRONMENT, ...process.env },
  });
  return [];
}

function readState(): Compiled | undefined {
  if (!existsSync(STATE)) return undefined;
  const state = JSON.parse(readFileSync(STATE, "utf8"));
  return JSON.stringify(state.rules) === JSON.stringify(rules) ? state : undefined;
}

function writeState(state: Compiled): void {
  mkdirSync("dist", { recursive: true });
  // A program that is ended meanwhile leaves no half of a file.
  writeFileSync(`${STATE}.new`, JSON.stringify({ rules, ...state }));
  renameSync(`${STATE}.new`, STATE);
}

async function compile(files: readonly string[]): Promise<void> {
  const entryPoints = files.filter((file) => /(?<!\.d)\.ts$/.test(file) && !file.startsWith(PAGE));
  await build({
    ...{ entryPoints, outbase: SOURCE, outdir: "dist", tsconfig: "tsconfig.build.json", logLevel: "warning" },
    ...{ bundle: true, treeShaking: false, packages: "external", plugins: [separate] },
    ...{ format: "esm", platform: "node", target: "node20.19" },
  });
}

async function stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
  if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, "exit");
  server.kill(signal);
  await ended;
}

/** A terminal has sent Ctrl-C to the server too, for which a second signal is none to wait at. */
async function leave(signal?: NodeJS.Signals): Promise<never> {
  if (signal !== undefined) await stop(signal);
  else if (server?.exitCode === null && server.signalCode === null) await once(server, "exit");
  process.exit();
}
