import { basename, resolve } from "node:path";
import { failedPrecondition, publicText } from "../../../errors.ts";
import type { Pointer } from "../../../native/bind-functions.ts";
import { customOpFiles } from "../../custom-op-files.ts";
import type { NativeContext } from "./open-onnx.ts";
import { check } from "./status.ts";
import { toNativePath } from "./to-native-path.ts";

/**
 * Gives a session's options the operators of the libraries of `custom_op_paths`, which ONNX Runtime keeps open as long
 * as the session lives. Throws `failed_precondition` for one that is missing or does not load.
 */
export function addCustomOps({ api, version }: NativeContext, settings: Pointer, paths: string): void {
  for (const file of customOpFiles(paths)) {
    try {
      check(api, api.RegisterCustomOpsLibrary_V2(settings, toNativePath(resolve(file))));
    } catch (cause) {
      throw failedPrecondition(
        `The custom op library "${basename(file)}" does not load into ONNX Runtime ${version}: ${publicText(cause)}. It has to export RegisterCustomOps, and to be built for this version or an earlier one.`,
        cause,
      );
    }
  }
}
