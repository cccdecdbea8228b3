/** Bundles the program, `src`, into `dist`: far fewer files than modules, since each costs a process and each of its threads time to start. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { build, type Plugin } from "esbuild";

const [SOURCE, BUILT] = [resolve("src"), resolve("dist")];
/** Stands for the way from a built file to `dist`. */
const TO_BUILT = "__to_built__";

/** Gives each module the URL that it would have as a file of its own, by which others are found from it. */
const ownUrls: Plugin = {
  name: "own-urls",
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      const own = JSON.stringify(`${TO_BUILT}/${relative(SOURCE, path).replace(/ts$/, "js")}`);
      const contents = text.replace(/(?<!["'`])\bimport\.meta\.url\b/g, `new URL(${own}, import.meta.url).href`);
      return { contents, loader: "ts" };
    });
  },
};

const { outputFiles } = await build({
  entryPoints: entryPoints(),
  outdir: BUILT,
  outbase: SOURCE,
  chunkNames: "chunks/[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  packages: "external",
  tsconfig: "tsconfig.build.json",
  plugins: [ownUrls],
  write: false,
  logLevel: "warning",
});
for (const { path, text } of outputFiles) {
  const toBuilt = relative(dirname(path), BUILT) || ".";
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text.replaceAll(TO_BUILT, toBuilt));
}

/**
 * The modules that are found by their names while the program runs: the command line, what the package exports, entries of
 * threads and processes, and those with work for codec threads.
 */
function entryPoints(): string[] {
  const { exports } = JSON.parse(readFileSync("package.json", "utf8"));
  const exported = [...JSON.stringify(exports).matchAll(/"\.\/dist\/([^"]+)\.js"/g)].map(([, name]) => name);
  const modules = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter((name) =>
    /(?<!\.d)\.ts$/.test(name),
  );
  const inModules = modules.flatMap((name) => {
    const text = readFileSync(join(SOURCE, name), "utf8");
    const entries = [...text.matchAll(/threadEntry\("([^"]+)"\)|"\.\.\/\.\.\/dist\/([\w/-]+)\.js"/g)].map(
      ([, thread, file]) => thread ?? file,
    );
    return /= defineJob\(/.test(text) ? [...entries, name.slice(0, -".ts".length)] : entries;
  });
  return [...new Set(["cli/main", ...exported, ...inModules])].map((name) => join(SOURCE, `${name}.ts`));
}
