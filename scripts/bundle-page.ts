import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { build } from "esbuild";

const LIBRARIES = ["preact", "uplot"];

const COMMON = { outdir: "dist/page", bundle: true, minify: true, logLevel: "warning", metafile: true } as const;

/**
 * Bundles the page for browsers, `src/page`, into `dist/page`, with the licences of the libraries in it; returns the
 * files that its bundles are made of.
 */
export async function bundlePage(): Promise<readonly string[]> {
  const program = await build({
    ...COMMON,
    entryPoints: { page: "src/page/main.tsx" },
    format: "esm",
    target: ["chrome123", "firefox121", "safari17.5"],
    jsx: "automatic",
    jsxImportSource: "preact",
  });
  const styles = await build({ ...COMMON, entryPoints: { page: "src/page/page.css" } });
  for (const file of ["index.html", "icon.svg"]) copyFileSync(`src/page/${file}`, `dist/page/${file}`);
  const { resolve } = createRequire(import.meta.url);
  const folderOf = (name: string) => dirname(resolve(`${name}/package.json`));
  const licences = LIBRARIES.map((name) => `${name}\n\n${readFileSync(`${folderOf(name)}/LICENSE`, "utf8")}`);
  writeFileSync("dist/page/licences.txt", licences.join("\n---\n\n"));
  return [program, styles].flatMap(({ metafile }) => Object.keys(metafile.inputs));
}
