import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Answers x / 2 + 2. */
export const HALF = fileURLToPath(new URL("../../test/fixtures/models/half-plus-two.onnx", import.meta.url));

/** Lends a folder of its own, which is deleted afterwards. */
export async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "kserving-reload-"));
  try {
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Puts a model into a folder as a version. */
export function addVersion(folder: string, version: number, model = HALF): void {
  mkdirSync(join(folder, String(version)), { recursive: true });
  cpSync(model, join(folder, String(version), "model.onnx"));
}
