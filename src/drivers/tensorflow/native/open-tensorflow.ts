import { realpathSync } from "node:fs";
import { ServingError } from "../../../errors.ts";
import { bindFunctions } from "../../../native/bind-functions.ts";
import { openLibrary } from "../../../native/open-library.ts";
import { claimForProcess, setEnvironmentDefault } from "../../../native/process-environment.ts";
import { C_API, type TensorflowApi } from "./c-api.ts";

/** Libraries that this thread has opened, by path. */
const opened = new Map<string, TensorflowApi>();

/** Only errors; what matters of the rest is in the server's log. */
const LOG_LEVEL = { name: "TF_CPP_MIN_LOG_LEVEL", value: "2" };

/** Opens libtensorflow; throws `failed_precondition` for a file that does not load or lacks functions, and for a second one beside it. */
export function openTensorflow(path: string): TensorflowApi {
  const known = opened.get(path);
  if (known !== undefined) return known;
  // It is read when the library is loaded.
  setEnvironmentDefault(LOG_LEVEL.name, LOG_LEVEL.value);
  const library = openLibrary(path);
  const api = bindFunctions(library, C_API, `The TensorFlow library "${path}"`);
  checkOnlyOne(realpathSync(path));
  opened.set(path, api);
  return api;
}

/** The loader would give one version's library the other's parts. */
function checkOnlyOne(file: string): void {
  const loaded = claimForProcess("KSERVING_TENSORFLOW_LOADED", file);
  if (loaded === file) return;
  throw new ServingError(
    "failed_precondition",
    `"${file}" cannot be used beside "${loaded}", which an earlier model has loaded: a process takes one TensorFlow.`,
  );
}
