import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { buildSync } from "esbuild";
import { tempFolder } from "./temp-folder.ts";

/**
 * The URL of a module of the source, with all that it imports of it, as JavaScript for threads and processes of a test.
 */
export function builtModule(path: string): string {
  const outfile = join(tempFolder(), "module.mjs");
  buildSync({ entryPoints: [path], outfile, bundle: true, format: "esm", platform: "node", packages: "external" });
  return pathToFileURL(outfile).href;
}
