import { existsSync } from "node:fs";
import { join } from "node:path";
import { isEncoderFolder } from "./python/encoder-folder.ts";
import { DRIVER_NAMES, findDriver } from "./registry.ts";

/** Drivers whose runtimes read many formats, whatever a file is called. */
const READERS = ["onnx", "openvino", "tensorflow"];

/**
 * Drivers that may take a model, those that recognise it first. If none recognises its name, these are the ones that
 * read many formats.
 */
export async function driversFor(path: string): Promise<string[]> {
  const found = await Promise.all(DRIVER_NAMES.map(findDriver));
  const own = found.filter(({ driver }) => driver.detect?.(path)).map(({ driver }) => driver.name);
  if (own.length === 0) return READERS;
  return [...new Set([...own, ...(isForOpenVino(path) ? ["openvino"] : [])])];
}

/**
 * The same, and those that read other formats: a file may hold something else than its name says, but no folder of
 * weights does.
 */
export async function driversToAsk(path: string): Promise<string[]> {
  return [...new Set([...(await driversFor(path)), ...(isEncoderFolder(path) ? [] : READERS)])];
}

/** The formats of OpenVINO's front ends, which other drivers recognise. */
function isForOpenVino(path: string): boolean {
  return /\.(onnx|tflite|pdmodel|pb)$/i.test(path) || existsSync(join(path, "saved_model.pb"));
}
