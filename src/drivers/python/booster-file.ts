import { statSync } from "node:fs";
import { basename } from "node:path";
import { readHead } from "../file-kind.ts";

/** Endings that XGBoost's and LightGBM's files share with each other, and with files other than models. */
const SHARED_ENDING = /\.(?:bst|json|txt)$/i;

/** The name that SageMaker's container for XGBoost gives to its file, whatever the format. */
const SAGEMAKER_NAME = "xgboost-model";

/** The library that wrote a file of a shared ending, by its first bytes; undefined for any other file, or folder. */
export function boosterLibrary(path: string): "xgboost" | "lightgbm" | undefined {
  if (basename(path) === SAGEMAKER_NAME && statSync(path, { throwIfNoEntry: false })?.isFile()) return "xgboost";
  if (!SHARED_ENDING.test(path)) return undefined;
  const head = readHead(path);
  if (/^tree\r?\n/.test(head)) return "lightgbm";
  // JSON and UBJSON with the key of XGBoost's models, and its older binary format.
  return /^\s*\{\s*"learner"|^\{L.{8}learner|^binf/s.test(head) ? "xgboost" : undefined;
}
