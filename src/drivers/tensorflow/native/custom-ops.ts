import { basename, resolve } from "node:path";
import { failedPrecondition, publicText } from "../../../errors.ts";
import { customOpFiles } from "../../custom-op-files.ts";
import type { TensorflowApi } from "./c-api.ts";
import { withStatus } from "./status.ts";

/**
 * Loads the libraries of `custom_op_paths` into TensorFlow, for the whole process;
 * throws `failed_precondition` for one that does not load.
 */
export function loadCustomOps(api: TensorflowApi, paths: string): void {
  for (const file of customOpFiles(paths)) loadLibrary(api, file);
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
