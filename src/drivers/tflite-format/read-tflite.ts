import { readFileSync } from "node:fs";
import { failedPrecondition } from "../../errors.ts";
import { CompiledFor, checkTflite } from "./check-tflite.ts";

/**
 * Reads a .tflite file into memory that nothing else uses; throws `failed_precondition` for one that is damaged or cut
 * short, before any library sees it.
 */
export function readTflite(path: string): Buffer {
  const bytes = readFileSync(path);
  try {
    checkTflite(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    return bytes;
  } catch (cause) {
    if (cause instanceof CompiledFor)
      throw failedPrecondition(
        `The model "${path}" was compiled for ${cause.message}; serve the .tflite file that it was compiled from.`,
        cause,
      );
    if (!(cause instanceof RangeError)) throw cause;
    const message = `The model file "${path}" is damaged or cut short: ${cause.message}. Copy or convert it again.`;
    throw failedPrecondition(message, cause);
  }
}
