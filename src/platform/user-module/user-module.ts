import { existsSync } from "node:fs";
import { open, readFile, stat } from "node:fs/promises";
import { builtinModules, createRequire, isBuiltin } from "node:module";
import { dirname, extname, join, relative, resolve } from "node:path";
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
import { didYouMean } from "../text/nearest.ts";
import { type Exports, errorAt, importCompiled, OWN_IMPORTS, ownModule } from "./import-compiled.ts";
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
 * `failed_precondition` with file, line and column. `orPython` = a file in Python would be taken in its place.
 */
export async function compileUserModule(path: string, orPython = false): Promise<HashedModule> {
  const { outputFiles, metafile } = await build(path, await findEntry(path, orPython));
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

async function findEntry(path: string, orPython: boolean): Promise<string> {
  const entry = resolve(path);
  const problem = (await problemOf(entry)) ?? languageProblem(entry);
  if (problem === undefined) return entry;
  const [languages, python] = orPython
    ? ["TypeScript, JavaScript or Python", ", .py"]
    : ["TypeScript or JavaScript", ""];
  throw failedPrecondition(
    `${path} ${problem}; expected a ${languages} file (.ts, .mts, .cts, .js, .mjs, .cjs${python}).`,
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
    // Names the package that is missing, where the older form fails as it runs: React is not defined.
    jsx: "automatic",
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
  const { location, text, notes } = first;
  if (location === null) return failedPrecondition(`${path}: ${text}`, reason);
  const { file, line, column } = location;
  const meant = notes.find((note) => note.text.startsWith("Did you mean"))?.text;
  const hint = meant === undefined ? compileHint(text, resolve(file)) : `. ${meant}`;
  return errorAt({ file, line, column: column + 1 }, path, { text, hint, reason });
}

/** A package's name at the beginning of an import, without the path in it. */
const PACKAGE = /^(?:@[\w-][\w.-]*\/)?[\w-][\w.-]*(?=\/|$)/;

/** Advice for an import that leads nowhere. */
function compileHint(text: string, file: string): string {
  const name = /^Could not resolve "(.+)"$/.exec(text)?.[1];
  if (name === undefined) return "";
  if (/^[./]/.test(name)) return "; the path counts from the folder of the file that imports it.";
  if (/^kserving(?:\/|$)/.test(name)) return `;${didYouMean(name, OWN_IMPORTS)} There are ${OWN_IMPORTS.join(", ")}.`;
  if (name.startsWith("node:"))
    return `; Node ${process.versions.node} has no such module.${didYouMean(name.slice("node:".length), builtinModules)}`;
  const [missing] = PACKAGE.exec(name) ?? [];
  if (missing === undefined) return "; expected a package's name, a relative path, or a path of a tsconfig.json.";
  const folders = createRequire(file).resolve.paths(missing) ?? [];
  if (folders.some((folder) => existsSync(join(folder, missing))))
    return `; the package ${missing} is installed, and exports nothing by this name.`;
  const what = /\/jsx-(?:dev-)?runtime$/.test(name) ? "; JSX is written for it:" : ";";
  return `${what} install the package where the file finds it (npm install ${missing}), or correct its name.`;
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
  if (isBuiltin(path)) return { path: `node:${path.replace(/^node:/, "")}`, external: true };
  const own = ownFile(path);
  if (own !== undefined) return outside(own, kind);
  const found = await build.resolve(path, { kind, importer, resolveDir, pluginData: packagesOutside });
  if (found.errors.length > 0) return { errors: found.errors };
  // A URL, or a module that Node does not have.
  if (found.external) return { errors: [{ text: `Could not resolve "${path}"` }] };
  return found.path.includes("node_modules") ? outside(found.path, kind) : { path: found.path };
}

/** A file that is not compiled in; `require` does not support URLs. */
function outside(file: string, kind: ImportKind): OnResolveResult {
  return { path: kind === "require-call" ? file : pathToFileURL(file).href, external: true };
}

/**
 * The file of the running server for an import of its package, even if the package is also installed next to the
 * importing file.
 */
function ownFile(path: string): string | undefined {
  const url = ownModule(path);
  if (url === undefined) return undefined;
  const built = fileURLToPath(url);
  if (!existsSync(built)) throw new Error(`${path} is not built; run "npm run build" in the server's folder.`);
  return built;
}

async function loadSource(path: string): Promise<OnLoadResult> {
  try {
    const contents = withJsx(withPlace(await readFile(path, "utf8"), path));
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

/** A file that names its own function for JSX has the older form, the only one that calls it. */
function withJsx(source: string): string {
  if (!/@jsx\s/.test(source) || /@jsxRuntime\b/.test(source)) return source;
  return `${source}\n/** @jsxRuntime classic */`;
}
