/**
 * Builds the packages of `packages` from parts of `src`, each into its own `dist`: modules, the declarations of `dist`
 * that they need, and the licences of the libraries in them. Libraries that a package names are left to npm.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { rolldown } from "rolldown";
import { ownUrls, placeUrls } from "./own-urls.ts";
import { publicDeclarations } from "./public-declarations.ts";

interface Manifest {
  readonly exports: unknown;
  readonly bin?: unknown;
  readonly files: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

for (const name of readdirSync("packages")) {
  const folder = join("packages", name);
  rmSync(join(folder, "dist"), { recursive: true, force: true });
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const libraries = await buildModules(folder, manifest);
  copyDeclarations(folder, manifest);
  copyProto(folder, manifest);
  if (libraries.size > 0) writeFileSync(join(folder, "dist/LICENSES.txt"), licencesOf(libraries));
}

/** Bundles what a package exports; returns the modules of libraries that are in it, by the folders of these. */
async function buildModules(folder: string, manifest: Manifest): Promise<ReadonlyMap<string, readonly string[]>> {
  const named = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
  const bundle = await rolldown({
    input: Object.fromEntries(pathsIn(manifest, "js").map((name) => [name, `src/${name}.ts`])),
    external: [/^node:/, ...named.map((library) => new RegExp(`^${library}(?:/|$)`))],
    platform: "node",
    tsconfig: "tsconfig.build.json",
    transform: { target: "node20.19" },
    plugins: [ownUrls],
  });
  const { output } = await bundle.write({
    dir: join(folder, "dist"),
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name]-[hash].js",
    comments: { legal: false, annotation: true, jsdoc: false },
  });
  await bundle.close();
  for (const chunk of output)
    if (chunk.type === "chunk") writeFileSync(join(folder, "dist", chunk.fileName), placeUrls(chunk));
  const modules = output.flatMap((chunk) => (chunk.type === "chunk" ? chunk.moduleIds : []));
  return groupBy(modules, (id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0]);
}

function copyDeclarations(folder: string, manifest: Manifest): void {
  for (const file of publicDeclarations(pathsIn(manifest, "d.ts").map((name) => `dist/${name}.d.ts`))) {
    const copy = join(folder, "dist", relative("dist", file));
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(file, copy);
  }
}

/** Copies the files of `proto` that the package has, since its modules read them. */
function copyProto(folder: string, { files }: Manifest): void {
  for (const file of files.filter((name) => name.startsWith("proto/"))) {
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    copyFileSync(file, join(folder, file));
  }
}

/** The exported files and the programs of an ending, from `dist` on and without it. */
function pathsIn({ exports, bin }: Manifest, ending: string): string[] {
  const paths = [...JSON.stringify([exports, bin]).matchAll(/"(?:\.\/)?dist\/([^".]+)\.([^"]+)"/g)];
  return paths.flatMap(([, path, found]) => (found === ending ? [path as string] : []));
}

/** The licences of libraries, and the notices at the beginning of their modules. */
function licencesOf(libraries: ReadonlyMap<string, readonly string[]>): string {
  const texts = [...libraries].sort().map(([library, modules]) => {
    const { license } = JSON.parse(readFileSync(join(library, "package.json"), "utf8"));
    const files = readdirSync(library).filter((file) => /^(?:licen[cs]e|notice)/i.test(file));
    const whole = files.map((file) => readFileSync(join(library, file), "utf8").trim());
    const notices = modules.map((file) =>
      /^(?:\/\/.*\n)*/.exec(readFileSync(file, "utf8"))?.[0].replace(/^\/\/ ?/gm, ""),
    );
    const copyrights = new Set(
      notices.filter((notice) => notice?.includes("Copyright")).map((notice) => notice?.trim()),
    );
    if (whole.length + copyrights.size === 0) throw new Error(`${library} has no licence to go with it`);
    return [`${library.replace(/^.*node_modules\//, "")}: ${license}`, ...whole, ...copyrights].join("\n\n");
  });
  return `${texts.join("\n\n\n")}\n`;
}

function groupBy(ids: readonly string[], keyOf: (id: string) => string | undefined): Map<string, readonly string[]> {
  const groups = new Map<string, readonly string[]>();
  for (const id of ids) {
    const key = keyOf(id);
    if (key !== undefined) groups.set(key, [...(groups.get(key) ?? []), id]);
  }
  return groups;
}
