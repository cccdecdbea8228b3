import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { tmpdir } from "node:os";
import { dirname, extname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { BuildFailure, BuildOptions, Loader, OnResolveArgs, OnResolveResult, Plugin, PluginBuild } from "esbuild";
import { reasonText, ServingError } from "./errors.ts";

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
  const entry = await findEntry(path);
  const esbuild = await import("esbuild");
  compiling++;
  try {
    const result = await esbuild.build(buildOptions(entry));
    const folder = await mkdtemp(join(tmpdir(), "kserving-"));
    const file = join(folder, "module.mjs");
    await writeFile(file, (result.outputFiles[0] as { contents: Uint8Array }).contents);
    return {
      url: pathToFileURL(file).href,
      sources: Object.keys(result.metafile.inputs).map((source) => resolve(source)),
      dispose: () => rm(folder, { recursive: true, force: true }),
    };
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

/** Compiles and imports a user's module in this thread; throws `failed_precondition` when it throws while loading. */
export async function importUserModule(path: string): Promise<Readonly<Record<string, unknown>>> {
  const compiled = await compileUserModule(path);
  try {
    return await importCompiled(compiled.url, path);
  } finally {
    await compiled.dispose();
  }
}

/** Imports a compiled module in this thread; `path` names its source in the error when it throws while loading. */
export async function importCompiled(url: string, path: string): Promise<Readonly<Record<string, unknown>>> {
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
  const found = await stat(entry).catch(() => undefined);
  if (found?.isFile()) return entry;
  const what = found === undefined ? "does not exist" : "is not a file";
  throw new ServingError("failed_precondition", `${path} ${what}; expected a TypeScript or JavaScript file.`);
}

function buildOptions(entry: string): BuildOptions & { write: false; metafile: true } {
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
    sourcesContent: false,
    logLevel: "silent",
    absWorkingDir: process.cwd(),
    banner: { js: require },
    define: PLACE_NAMES,
    plugins: [packagesOutside],
  };
}

/**
 * What {@link loadSource} defines in each file that asks for its place. Names of our own, because a file may well declare `__dirname` itself:
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
  if (own !== undefined) return { path: pathToFileURL(own).href, external: true };
  const found = await build.resolve(path, { kind, importer, resolveDir, pluginData: packagesOutside });
  if (found.errors.length > 0) return { errors: found.errors };
  if (!found.path.includes("node_modules")) return { path: found.path };
  return { path: kind === "require-call" ? found.path : pathToFileURL(found.path).href, external: true };
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
  const built = fileURLToPath(new URL(`../dist/${file}`, import.meta.url));
  if (!existsSync(built)) throw new Error(`${path} is not built; run "npm run build" in the server's folder.`);
  return built;
}

/** A file's first line, where it names an interpreter; nothing may stand before it. */
const HASHBANG = /^(?:#!.*\r?\n)?/;

/** Gives each file its own `import.meta.url`, `__filename` and `__dirname`, which bundling would lose. */
async function loadSource(path: string): Promise<{ contents: string; loader: Loader; resolveDir: string }> {
  const source = await readFile(path, "utf8");
  const loader = extname(path).replace(/^\.[cm]?/, "") as Loader;
  const names = `const __kservingFile = ${JSON.stringify(path)}, __kservingFolder = ${JSON.stringify(dirname(path))}, __kservingUrl = ${JSON.stringify(pathToFileURL(path).href)};`;
  const asksForPlace = /__dirname|__filename|import\.meta/.test(source);
  const contents = asksForPlace ? source.replace(HASHBANG, (line) => line + names) : source;
  return { contents, loader, resolveDir: dirname(path) };
}

function compileError(path: string, reason: unknown): ServingError {
  const failure = reason as Partial<BuildFailure>;
  const [first] = failure.errors ?? [];
  if (first === undefined) {
    return new ServingError("failed_precondition", `${path} could not be compiled: ${reasonText(reason)}`, {
      cause: reason,
    });
  }
  const { location, text } = first;
  const file = location !== null && resolve(location.file) !== resolve(path) ? relative("", location.file) : path;
  const place = location === null ? path : `${file}:${location.line}:${location.column + 1}`;
  return new ServingError("failed_precondition", `${place}: ${text}`, { cause: reason });
}
