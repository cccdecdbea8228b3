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
import { reasonText, ServingError } from "../errors.ts";
import { lostPackage } from "../lost-package.ts";
import { readProblem } from "../text/read-problem.ts";
import { createScratchFile } from "./scratch-file.ts";

/** A user's module (hooks, a driver), compiled with its local imports into one file that any thread can import. */
export interface CompiledModule {
  /** What to pass to `import()`. */
  readonly url: string;
  /** The source files it was made of: what to watch for a reload. */
  readonly sources: readonly string[];
  /** Deletes the compiled file; what was imported from it stays usable. */
  dispose(): Promise<void>;
}

/**
 * Compiles a TypeScript or JavaScript file: local imports become part of it, package imports are resolved from the file
 * that has them, and `kserving` is the running server's own copy. Throws `failed_precondition` with file, line and column.
 */
export async function compileUserModule(path: string): Promise<CompiledModule> {
  const { outputFiles, metafile } = await build(path, await findEntry(path));
  const file = createScratchFile("module.mjs", (outputFiles[0] as OutputFile).contents);
  return {
    url: pathToFileURL(file.path).href,
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
    // esbuild keeps a service process for its next build; ours seldom comes.
    if (compiling === 0) await esbuild.stop();
  }
}

/** Compilations under way: stopping esbuild's service would fail them. */
let compiling = 0;

type Exports = Readonly<Record<string, unknown>>;

/** Compiles and imports a user's module in this thread; throws `failed_precondition` when it throws while loading. `waitFor` may give up waiting for one that never finishes. */
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
    throw new ServingError("failed_precondition", `${path} threw while it was loaded: ${reasonText(reason)}`, {
      cause: reason,
    });
  }
}

async function findEntry(path: string): Promise<string> {
  const entry = resolve(path);
  const problem = (await problemOf(entry)) ?? languageProblem(entry);
  if (problem === undefined) return entry;
  throw new ServingError(
    "failed_precondition",
    `${path} ${problem}; expected a TypeScript or JavaScript file (.ts, .mts, .cts, .js, .mjs, .cjs).`,
  );
}

/** What is wrong with a file by its name. */
function languageProblem(file: string): string | undefined {
  const ending = extname(file);
  if (/^\.[cm]?[jt]sx?$/.test(ending)) return undefined;
  if (ending === ".py") return "is Python, which is not run here";
  return ending === "" ? "has no ending that tells its language" : `ends in ${ending}`;
}

/** Only opening a file tells whether it may be read. */
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
    // The compiled file lies elsewhere: stacks and debuggers are to show the user's own files.
    sourceRoot: pathToFileURL(`${process.cwd()}/`).href,
    logLevel: "silent",
    absWorkingDir: process.cwd(),
    banner: { js: require },
    define: PLACE_NAMES,
    plugins: [packagesOutside],
  };
}

/**
 * What {@link withPlace} defines in each file that asks for its place. Names of our own, because a file may well declare `__dirname` itself:
 * esbuild replaces only those that are not declared.
 */
const PLACE_NAMES = {
  "import.meta.url": "__kservingUrl",
  "import.meta.dirname": "__kservingFolder",
  "import.meta.filename": "__kservingFile",
  __dirname: "__kservingFolder",
  __filename: "__kservingFile",
};

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

/** A file that stays out of the compiled one; `require` knows no URLs. */
function outside(file: string, kind: ImportKind): OnResolveResult {
  return { path: kind === "require-call" ? file : pathToFileURL(file).href, external: true };
}

const OWN_MODULES: Readonly<Record<string, string>> = {
  kserving: "index.js",
  "kserving/hooks": "hooks/hooks.js",
  "kserving/drivers": "drivers/driver.js",
};

/** The file of the running server that an import of its package means, installed beside the importing file or not. */
function ownModule(path: string): string | undefined {
  const file = Object.hasOwn(OWN_MODULES, path) ? OWN_MODULES[path] : undefined;
  if (file === undefined) return undefined;
  const built = fileURLToPath(new URL(`../../dist/${file}`, import.meta.url));
  if (!existsSync(built)) throw new Error(`${path} is not built; run "npm run build" in the server's folder.`);
  return built;
}

/** A file's first line, where it names an interpreter; nothing may stand before it. */
const HASHBANG = /^(?:#!.*\r?\n)?/;

async function loadSource(path: string): Promise<OnLoadResult> {
  try {
    const contents = withPlace(await readFile(path, "utf8"), path);
    return { contents, loader: extname(path).replace(/^\.[cm]?/, "") as Loader, resolveDir: dirname(path) };
  } catch (reason) {
    return { errors: [{ text: `${relative("", path)} ${readProblem(reason)}.` }] };
  }
}

/** Gives a file its own `import.meta.url`, `__filename` and `__dirname`, which bundling would lose. */
function withPlace(source: string, path: string): string {
  if (!/__dirname|__filename|import\.meta/.test(source)) return source;
  const names = `const __kservingFile = ${JSON.stringify(path)}, __kservingFolder = ${JSON.stringify(dirname(path))}, __kservingUrl = ${JSON.stringify(pathToFileURL(path).href)};`;
  return source.replace(HASHBANG, (line) => line + names);
}

function compileError(path: string, reason: unknown): ServingError {
  const lost = lostPackage(reason);
  if (lost !== undefined) return lost;
  const failure = reason as Partial<BuildFailure>;
  const [first] = failure.errors ?? [];
  if (first === undefined) {
    return new ServingError("failed_precondition", `${path} could not be compiled: ${reasonText(reason)}`, {
      cause: reason,
    });
  }
  const { location, text } = first;
  const file = location !== null && resolve(location.file) !== resolve(path) ? relative("", location.file) : path;
  if (location === null) return new ServingError("failed_precondition", `${path}: ${text}`, { cause: reason });
  const place = `${location.line}:${location.column + 1}`;
  const hint = unresolvedHint(text);
  const cause = new Error(text, { cause: reason });
  // As if the file itself had thrown it there.
  cause.stack = `Error: ${text}\n    at ${resolve(location.file)}:${place}`;
  return new ServingError("failed_precondition", `${file}:${place}: ${text}${hint}`, { cause });
}

/** What to do about an import that leads nowhere. */
function unresolvedHint(text: string): string {
  const name = /^Could not resolve "(.+)"$/.exec(text)?.[1];
  if (name === undefined) return "";
  if (/^[./]/.test(name)) return "; the path counts from the folder of the file that imports it.";
  return `; install the package where the file finds it (npm install ${name}), or correct its name.`;
}
