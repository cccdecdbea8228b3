import { defineJob } from "../../codec-host/job.ts";
import { DecodeBudget } from "../../limits/memory/decode-budget.ts";
import { createTensor, type Tensor } from "../../tensor/tensor.ts";

/** Files as a tensor of URL-safe base64 texts, with their padding, as Python writes it. */
export function encodeFiles(files: readonly Uint8Array[], maxBytes: number): Tensor {
  const budget = new DecodeBudget(maxBytes);
  const texts = files.map((file) => {
    const length = Math.ceil(file.length / 3) * 4;
    budget.spend(length, () => "A file as base64");
    const text = Buffer.from(file.buffer, file.byteOffset, file.byteLength).toString("base64url");
    return Buffer.from(text.padEnd(length, "="), "latin1");
  });
  return createTensor("bytes", [texts.length], texts);
}

/** {@link encodeFiles} for a codec thread. */
export const encodeFilesJob = defineJob(import.meta.url, "encodeFilesJob", encodeFiles);
