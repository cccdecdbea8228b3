import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { failedPrecondition } from "../errors.ts";

/**
 * The libraries that an option's paths name, files or folders of them, separated by commas. Throws
 * `failed_precondition` for a path without any.
 */
export function customOpFiles(paths: string): readonly string[] {
  const entries = paths.split(",").map((path) => path.trim());
  return entries.filter((path) => path !== "").flatMap(filesAt);
}

function filesAt(path: string): string[] {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw failedPrecondition(`custom_op_paths names "${path}", which does not exist.`);
  if (!stat.isDirectory()) return [path];
  const names = readdirSync(path).filter((name) => /\.(so|dylib|dll)$/.test(name));
  if (names.length === 0)
    throw failedPrecondition(`custom_op_paths names the folder "${path}", which has no libraries.`);
  return names.sort().map((name) => join(path, name));
}
