import { bindFunctions } from "../../../native/bind-functions.ts";
import { openLibrary } from "../../../native/open-library.ts";
import { C_API, type TensorflowApi } from "./c-api.ts";
import { checkOnlyTensorflow } from "./check-only-tensorflow.ts";
import { quietTensorflow } from "./quiet-tensorflow.ts";

/** Libraries that this thread has opened, by path. */
const opened = new Map<string, TensorflowApi>();

/**
 * Opens libtensorflow; throws `failed_precondition` for a file that does not load or lacks functions, and for a second
 * library.
 */
export function openTensorflow(path: string): TensorflowApi {
  const known = opened.get(path);
  if (known !== undefined) return known;
  quietTensorflow();
  const library = openLibrary(path);
  const api = bindFunctions(library, C_API, `The TensorFlow library "${path}"`);
  checkOnlyTensorflow(path);
  opened.set(path, api);
  return api;
}
