import { existsSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { failedPrecondition, reasonText, ServingError } from "../../../errors.ts";
import type { ModelSource } from "../model-source.ts";
import { loadFrozenGraph, loadSavedModel, parseTags } from "../saved-model/load-saved-model.ts";
import { failedNode, failureText } from "./failure-text.ts";
import { TensorflowFailure } from "./status.ts";

/** The error for a model that TensorFlow does not load: `failed_precondition` with the reason and the remedy. */
export function toLoadError(
  reason: unknown,
  source: ModelSource,
  { tags, version }: { readonly tags: string; readonly version: string },
): ServingError {
  if (!(reason instanceof TensorflowFailure)) return ServingError.from(reason);
  const text = failureText(withoutFolder(reasonText(reason), source.path));
  const op = /Op type not registered '(.+?)'/.exec(text)?.[1];
  if (op !== undefined) {
    const message = `TensorFlow ${version} has no op "${op}", which the model needs; give the library that has it with -o custom_op_paths=.`;
    return failedPrecondition(message, reason);
  }
  const ownReason = ownLoadError(source, tags);
  if (ownReason !== undefined) return ownReason;
  const what = failedNode(reason)?.includes("RestoreV2") ? "its variables cannot be read: " : "";
  return failedPrecondition(`TensorFlow ${version} cannot load "${source.path}": ${what}${text}.`, reason);
}

/** A clearer error than TensorFlow's for a graph that is damaged or has other tags. */
function ownLoadError({ format, path }: ModelSource, tags: string): ServingError | undefined {
  try {
    if (format === "frozen-graph") loadFrozenGraph(path);
    else if (existsSync(join(path, "saved_model.pb"))) loadSavedModel(path, parseTags(tags));
    return undefined;
  } catch (reason) {
    return ServingError.from(reason);
  }
}

/** Files of the model by their names within it. */
function withoutFolder(text: string, folder: string): string {
  return text.replaceAll(resolve(folder) + sep, "").replaceAll(folder.replace(/[/\\]*$/, sep), "");
}
