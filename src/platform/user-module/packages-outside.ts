import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { dirname, extname, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { ImportKind, Loader, OnLoadResult, OnResolveArgs, OnResolveResult, Plugin, PluginBuild } from "esbuild";
import { readProblem } from "../text/file-problem.ts";

/** Keeps packages out of the compiled file, as absolute URLs, so that it can live in a temporary folder. */
export const packagesOutside: Plugin = {
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
export const PLACE_NAMES = {
  "import.meta.url": "__kservingUrl",
  "import.meta.dirname": "__kservingFolder",
  "import.meta.filename": "__kservingFile",
  __dirname: "__kservingFolder",
  __filename: "__kservingFile",
};

/** A file's first line, if it names an interpreter; it must be the very first. */
const HASHBANG = /^(?:#!.*\r?\n)?/;

/** Gives a file its own `import.meta.url`, `__filename` and `__dirname`, which bundling would lose. */
function withPlace(source: string, path: string): string {
  if (!/__dirname|__filename|import\.meta/.test(source)) return source;
  const names = `const __kservingFile = ${JSON.stringify(path)}, __kservingFolder = ${JSON.stringify(dirname(path))}, __kservingUrl = ${JSON.stringify(pathToFileURL(path).href)};`;
  return source.replace(HASHBANG, (line) => line + names);
}
