import { closeSync, openSync, readSync } from "node:fs";

/** Endings that XGBoost's and LightGBM's files share with each other, and with files that are no models. */
const SHARED_ENDING = /\.(?:bst|json|txt)$/i;
const HEAD_BYTES = 64;

/** The library that wrote a file of a shared ending, by its first bytes; undefined for any other file, or folder. */
export function boosterLibrary(path: string): "xgboost" | "lightgbm" | undefined {
  if (!SHARED_ENDING.test(path)) return undefined;
  const head = readHead(path);
  if (/^tree\r?\n/.test(head)) return "lightgbm";
  // JSON and UBJSON with the key of XGBoost's models, and its older binary format.
  return /^\s*\{\s*"learner"|^\{L.{8}learner|^binf/s.test(head) ? "xgboost" : undefined;
}

/** Empty for what cannot be read; the driver then tells why. */
function readHead(path: string): string {
  try {
    const file = openSync(path, "r");
    try {
      const head = Buffer.alloc(HEAD_BYTES);
      return head.toString("latin1", 0, readSync(file, head, 0, HEAD_BYTES, 0));
    } finally {
      closeSync(file);
    }
  } catch {
    return "";
  }
}
