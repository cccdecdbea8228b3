import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { extname } from "node:path";

/** Bytes of a file that are looked at. */
const HEAD_BYTES = 4096;

/**
 * The next step for a file that no driver recognises by its name: the file next to it that is the model, or the driver of what it
 * looks like, as a sentence. Empty where there is none.
 */
export function pathHint(path: string): string {
  const ending = extname(path);
  const stem = path.slice(0, path.length - ending.length);
  if (ending === ".bin") {
    const model = [".xml", ".json"].map((other) => stem + other).find((file) => existsSync(file));
    return model === undefined ? "" : ` It looks like the weights of ${model}; expected that file.`;
  }
  return ending === ".json" && isTensorflowJs(path)
    ? " It looks like a TensorFlow.js model: add --driver tensorflow."
    : "";
}

/** Files of other names than model.json say in their first members what they are. */
function isTensorflowJs(path: string): boolean {
  return /"format"\s*:\s*"(?:graph|layers)-model"|"modelTopology"\s*:/.test(headOf(path));
}

function headOf(path: string): string {
  try {
    const file = openSync(path, "r");
    try {
      const head = Buffer.alloc(HEAD_BYTES);
      return head.toString("latin1", 0, readSync(file, head));
    } finally {
      closeSync(file);
    }
  } catch {
    return "";
  }
}
