import { build } from "esbuild";

interface Bundle {
  readonly code: string;
  readonly inputs: readonly string[];
  /** Of the bundler: what no web page has. */
  readonly warnings: readonly string[];
}

/** The built client as a bundler for web pages takes it; its module is the global `client`. */
export async function bundleClient(): Promise<Bundle> {
  const { outputFiles, metafile, warnings } = await build({
    stdin: { contents: 'export * from "kserving/client";', resolveDir: process.cwd() },
    ...{ bundle: true, write: false, minify: true, metafile: true, logLevel: "silent" },
    // Not the paths of this project: what the package exports.
    tsconfigRaw: "{}",
    ...{ platform: "browser", format: "iife", globalName: "client" },
  });
  const inputs = Object.keys(metafile.inputs);
  return { code: outputFiles[0]?.text ?? "", inputs, warnings: warnings.map(({ text }) => text) };
}
