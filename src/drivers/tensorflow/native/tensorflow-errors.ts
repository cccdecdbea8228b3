import { existsSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import {
  type ErrorCode,
  failedPrecondition,
  fromGrpcStatus,
  publicText,
  reasonText,
  ServingError,
  shortText,
} from "../../../errors.ts";
import type { Tensor } from "../../../tensor/tensor.ts";
import type { ModelSource } from "../model-source.ts";
import { loadFrozenGraph, loadSavedModel, parseTags } from "../saved-model/load-saved-model.ts";
import { TensorflowFailure } from "./c-api.ts";

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

/** Codes with the same meaning for clients as for TensorFlow; `not_found`, for example, would mean a missing model. */
const CODES_FOR_CLIENTS: readonly ErrorCode[] = [
  "invalid_argument",
  "deadline_exceeded",
  "failed_precondition",
  "out_of_range",
  "resource_exhausted",
  "unimplemented",
  "data_loss",
];

/** The error for a failed run, with the failed node and, if they may be the reason, the inputs. */
export function toRunError(reason: unknown, inputs: Iterable<readonly [name: string, tensor: Tensor]>): ServingError {
  if (!(reason instanceof TensorflowFailure)) return ServingError.from(reason);
  const code = fromGrpcStatus(reason.code);
  if (code === "deadline_exceeded") {
    return new ServingError(code, "The request's deadline passed while the model ran.", { cause: reason });
  }
  const node = failedNode(reason);
  const where = node === undefined ? "The model failed" : `The model failed in node "${node}"`;
  const given = code === "invalid_argument" || code === "out_of_range" ? ` ${describe(inputs)}` : "";
  const known = CODES_FOR_CLIENTS.includes(code) ? code : "internal";
  return new ServingError(known, `${where}: ${failureText(reason)}.${given}`, { cause: reason });
}

function describe(inputs: Iterable<readonly [string, Tensor]>): string {
  const texts = Array.from(inputs, ([name, { dtype, shape }]) => `${name} ${dtype}[${shape}]`);
  return texts.length === 0 ? "The run had no inputs." : `The inputs were ${texts.join(", ")}.`;
}

/** Lines of the Python program that made a node: useful to the people who trained the model only. */
const ORIGIN = /^(Detected at node|File ".*?", line \d+|Stack trace for op definition:|<stack traces unavailable>)/;
const NODE = /\{\{node ([^}]+)\}\}/g;
/** Marks of a node, of a function's call and of what else failed then. */
const MARKS = /\s*\[\[.*?\]\]|\s*\[Op:\w+\]|\{\{function_node [^}]*\}\}\s*/g;

/** TensorFlow's message about a failure, for clients: one line, without traces and paths. */
export function failureText(reason: unknown): string {
  const lines = shortText(reason)
    .split("\n")
    .map((line) => line.replace(MARKS, "").replace(NODE, "$1").trim())
    .filter((line) => line !== "" && !ORIGIN.test(line) && !/^\d+ root error/.test(line));
  return publicText((lines[0] ?? "no reason given").replace(/^\(\d+\) \w+: /, "")).replace(/\.$/, "");
}

/** The name of the node that failed, by the function's body if it is in one; undefined if the text has none. */
export function failedNode(reason: unknown): string | undefined {
  return [...shortText(reason).matchAll(NODE)].at(-1)?.[1];
}
