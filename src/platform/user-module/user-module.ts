import { existsSync } from "node:fs";
import { open, readFile, stat } from "node:fs/promises";
import { builtinModules } from "node:module";
import { dirname, extname, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type {
  BuildFailure,
  BuildOptions,
  BuildResult,
  ImportKind,
  Loader,
  OnLoadResult,
  OnResolveArgs,
  OnResolveResult,
  OutputFile,
  Plugin,
  PluginBuild,
} from "esbuild";
import { failedPrecondition, reasonText, type ServingError } from "../../errors.ts";
import { lostPackage } from "../../lost-package.ts";
import { readProblem } from "../text/file-problem.ts";
import { createScratchFile } from "./scratch-file.ts";

/** A file's first line, if it names an interpreter; it must be the very first. */
const HASHBANG = /^(?:#!.*\r?\n)?/;

/** A user's module (hooks, a driver), compiled with its local imports into one file that any thread can import. */
export interface CompiledModule {
  /** URL for `import()`. */
  readonly url: string;
  /** Its source files, to watch for a reload. */
  readonly sources: readonly string[];
  /** Deletes the compiled file; imported modules stay usable. */
  dispose(): Promise<void>;
}

/** A compiled module with what differs if its code does. */
export interface HashedModule extends CompiledModule {
  readonly hash: string;
}

/**
 * Compiles a TypeScript or JavaScript file: local imports become part of it, package imports are resolved from the file
 * that has them, and `kserving` is the running server's own copy. Throws
 * `failed_precondition` with file, line and column.
 */
export async function compileUserModule(path: string): Promise<HashedModule> {
  const { outputFiles, metafile } = await build(path, await findEntry(path));
  const [{ contents, hash }] = outputFiles as [OutputFile];
  const file = createScratchFile("module.mjs", contents);
  return {
    url: pathToFileURL(file.path).href,
    hash,
    sources: Object.keys(metafile.inputs).map((source) => resolve(source)),
    dispose: async () => file.remove(),
  };
}

async function build(path: string, entry: string): Promise<BuildResult<Build>> {
  const esbuild = await import("esbuild");
  compiling++;
  try {
    return await esbuild.build(buildOptions(entry));
  } catch (reason) {
    throw compileError(path, reason);
  } finally {
    compiling--;
    // esbuild keeps a service process for the next build, of which there is seldom one.
    if (compiling === 0) await esbuild.stop();
  }
}

/** Number of running compilations, which would fail if esbuild's service was stopped. */
let compiling = 0;

type Exports = Readonly<Record<string, unknown>>;

/**
 * Compiles and imports a user's module in this thread; throws `failed_precondition` when it throws while loading.
 * `waitFor` may give up waiting for one that never finishes.
 */
export async function importUserModule(
  path: string,
  waitFor = (importing: Promise<Exports>) => importing,
): Promise<Exports> {
  const compiled = await compileUserModule(path);
  // Stacks are to show the user's own file; threads of hooks are started with the flag for it.
  process.setSourceMapsEnabled(true);
  try {
    return await waitFor(importCompiled(compiled.url, path));
  } finally {
    await compiled.dispose();
  }
}

/** Imports a compiled module in this thread; `path` names its source in the error when it throws while loading. */
export async function importCompiled(url: string, path: string): Promise<Exports> {
  try {
    return await import(url);
  } catch (reason) {
    throw failedPrecondition(`${path} threw while it was loaded: ${reasonText(reason)}`, reason);
  }
}

async function findEntry(path: string): Promise<string> {
  const entry = resolve(path);
  const problem = (await problemOf(entry)) ?? languageProblem(entry);
  if (problem === undefined) return entry;
  throw failedPrecondition(
    `${path} ${problem}; expected a TypeScript or JavaScript file (.ts, .mts, .cts, .js, .mjs, .cjs).`,
  );
}

/** The problem with a file by its name. */
function languageProblem(file: string): string | undefined {
  const ending = extname(file);
  if (/^\.[cm]?[jt]sx?$/.test(ending)) return undefined;
  if (ending === ".py") return "is Python, which is not run here";
  return ending === "" ? "has no ending that tells its language" : `ends in ${ending}`;
}

/** A file is opened, since only that shows if it may be read. */
async function problemOf(file: string): Promise<string | undefined> {
  try {
    const found = await stat(file);
    if (found.isDirectory()) return "is a folder";
    if (!found.isFile()) return "is not a file";
    await (await open(file)).close();
    return undefined;
  } catch (reason) {
    return readProblem(reason);
  }
}

type Build = BuildOptions & { write: false; metafile: true };

function buildOptions(entry: string): Build {
  const require = `import { createRequire as __createRequire } from "node:module"; const require = __createRequire(${JSON.stringify(pathToFileURL(entry).href)});`;
  return {
    entryPoints: [entry],
    bundle: true,
    write: false,
    platform: "node",
    format: "esm",
    target: `node${process.versions.node}`,
    metafile: true,
    sourcemap: "inline",
    // The compiled file is elsewhere: stacks and debuggers should show the user's own files.
    sourceRoot: pathToFileURL(`${process.cwd()}/`).href,
    logLevel: "silent",
    absWorkingDir: process.cwd(),
    banner: { js: require },
    define: PLACE_NAMES,
    plugins: [packagesOutside],
  };
}

/** The error of a file that esbuild cannot compile, with file, line and column. */
function compileError(path: string, reason: unknown): ServingError {
  const lost = lostPackage(reason);
  if (lost !== undefined) return lost;
  const failure = reason as Partial<BuildFailure>;
  const [first] = failure.errors ?? [];
  if (first === undefined) {
    return failedPrecondition(`${path} could not be compiled: ${reasonText(reason)}`, reason);
  }
  const { location, text } = first;
  const file = location !== null && resolve(location.file) !== resolve(path) ? relative("", location.file) : path;
  if (location === null) return failedPrecondition(`${path}: ${text}`, reason);
  const place = `${location.line}:${location.column + 1}`;
  const hint = unresolvedHint(text);
  const cause = new Error(text, { cause: reason });
  // As if the file itself had thrown it there.
  cause.stack = `Error: ${text}\n    at ${resolve(location.file)}:${place}`;
  return failedPrecondition(`${file}:${place}: ${text}${hint}`, cause);
}

/** Advice for an import that leads nowhere. */
function unresolvedHint(text: string): string {
  const name = /^Could not resolve "(.+)"$/.exec(text)?.[1];
  if (name === undefined) return "";
  if (/^[./]/.test(name)) return "; the path counts from the folder of the file that imports it.";
  return `; install the package where the file finds it (npm install ${name}), or correct its name.`;
}

/** Keeps packages out of the compiled file, as absolute URLs, so that it can live in a temporary folder. */
const packagesOutside: Plugin = {
  name: "packages-outside",
  setup(build) {
    build.onResolve({ filter: /^[^./]/ }, (args) => resolvePackage(build, args));
    build.onLoad({ filter: /\.[cm]?[jt]sx?$/ }, ({ path }) => loadSource(path));
  },
};

async function resolvePackage(build: PluginBuild, args: OnResolveArgs): Promise<OnResolveResult | undefined> {
  const { path, kind, importer, resolveDir, pluginData } = args;
  if (kind === "entry-point" || pluginData === packagesOutside) return undefined;
  if (builtinModules.includes(path.replace(/^node:/, ""))) {
    return { path: `node:${path.replace(/^node:/, "")}`, external: true };
  }
  const own = ownModule(path);
  if (own !== undefined) return outside(own, kind);
  const found = await build.resolve(path, { kind, importer, resolveDir, pluginData: packagesOutside });
  if (found.errors.length > 0) return { errors: found.errors };
  return found.path.includes("node_modules") ? outside(found.path, kind) : { path: found.path };
}

/** A file that is not compiled in; `require` does not support URLs. */
function outside(file: string, kind: ImportKind): OnResolveResult {
  return { path: kind === "require-call" ? file : pathToFileURL(file).href, external: true };
}

const OWN_MODULES: Readonly<Record<string, string>> = {
  kserving: "index.js",
  "kserving/client": "client/node.js",
  "kserving/hooks": "hooks/hooks.js",
  "kserving/drivers": "drivers/driver.js",
  "kserving/testing": "tools/testing/testing.js",
};

/**
 * The file of the running server for an import of its package, even if the package is also installed next to the
 * importing file.
 */
function ownModule(path: string): string | undefined {
  const file = Object.hasOwn(OWN_MODULES, path) ? OWN_MODULES[path] : undefined;
  if (file === undefined) return undefined;
  const built = fileURLToPath(new URL(`../../../dist/${file}`, import.meta.url));
  if (!existsSync(built)) throw new Error(`${path} is not built; run "npm run build" in the server's folder.`);
  return built;
}

async function loadSource(path: string): Promise<OnLoadResult> {
  try {
    const contents = withPlace(await readFile(path, "utf8"), path);
    return { contents, loader: extname(path).replace(/^\.[cm]?/, "") as Loader, resolveDir: dirname(path) };
  } catch (reason) {
    return { errors: [{ text: `${relative("", path)} ${readProblem(reason)}.` }] };
  }
}

/**
 * Names that {@link withPlace} defines in each file that asks for its place. They are our own, because a file may well
 * declare `__dirname` itself: esbuild replaces only those that are not declared.
 */
const PLACE_NAMES = {
  "import.meta.url": "__kservingUrl",
  "import.meta.dirname": "__kservingFolder",
  "import.meta.filename": "__kservingFile",
  __dirname: "__kservingFolder",
  __filename: "__kservingFile",
};

/** Gives a file its own `import.meta.url`, `__filename` and `__dirname`, which bundling would lose. */
function withPlace(source: string, path: string): string {
  if (!/__dirname|__filename|import\.meta/.test(source)) return source;
  const names = `const __kservingFile = ${JSON.stringify(path)}, __kservingFolder = ${JSON.stringify(dirname(path))}, __kservingUrl = ${JSON.stringify(pathToFileURL(path).href)};`;
  return source.replace(HASHBANG, (line) => line + names);
}
