import { build } from "esbuild";

/** The built client as a bundler for web pages takes it; its module is the global `client`. */
export async function bundleClient(): Promise<{ readonly code: string; readonly inputs: readonly string[] }> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: 'export * from "kserving/client";', resolveDir: process.cwd() },
    ...{ bundle: true, write: false, minify: true, metafile: true },
    // Not the paths of this project: what the package exports.
    tsconfigRaw: "{}",
    ...{ platform: "browser", format: "iife", globalName: "client" },
  });
  return { code: outputFiles[0]?.text ?? "", inputs: Object.keys(metafile.inputs) };
}
