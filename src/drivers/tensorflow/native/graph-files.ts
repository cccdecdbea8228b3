import { existsSync } from "node:fs";
import { join } from "node:path";
import { type ModelSource, SAVED_MODEL_FILES } from "../model-source.ts";

/** The files that may hold a model's graph. */
export function graphFiles({ format, path }: ModelSource): string[] {
  const files = format === "saved-model" ? SAVED_MODEL_FILES.map((name) => join(path, name)) : [path];
  return files.filter((file) => existsSync(file));
}
