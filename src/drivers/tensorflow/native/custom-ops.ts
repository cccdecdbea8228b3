import { readdirSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { failedPrecondition, publicText } from "../../../errors.ts";
import type { TensorflowApi } from "./c-api.ts";
import { withStatus } from "./status.ts";

/** Loads the libraries of `custom_op_paths` into TensorFlow, for the whole process; throws `failed_precondition` for one that does not load. */
export function loadCustomOps(api: TensorflowApi, paths: string): void {
  const entries = paths.split(",").map((path) => path.trim());
  for (const file of entries.filter((path) => path !== "").flatMap(libraryFiles)) loadLibrary(api, file);
}

function libraryFiles(path: string): string[] {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw failedPrecondition(`custom_op_paths names "${path}", which does not exist.`);
  if (!stat.isDirectory()) return [path];
  const names = readdirSync(path).filter((name) => /\.(so|dylib|dll)$/.test(name));
  if (names.length === 0)
    throw failedPrecondition(`custom_op_paths names the folder "${path}", which has no libraries.`);
  return names.sort().map((name) => join(path, name));
}

function loadLibrary(api: TensorflowApi, file: string): void {
  try {
    withStatus(api, (status) => api.TF_LoadLibrary(resolve(file), status));
  } catch (cause) {
    const reason = publicText(cause).replace("(path): ", "");
    throw failedPrecondition(
      `The custom op library "${basename(file)}" does not load into TensorFlow ${api.TF_Version()}: ${reason}. It has to be built for this version.`,
      cause,
    );
  }
}
