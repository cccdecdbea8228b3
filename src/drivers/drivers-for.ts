import { DRIVER_NAMES, findDriver } from "./registry.ts";

/** Drivers whose runtimes read many formats, whatever a file is called. */
const READERS = ["onnx", "openvino", "tensorflow"];

/** Drivers that may take a model, those that recognise it first. */
export async function driversFor(path: string): Promise<string[]> {
  const found = await Promise.all(DRIVER_NAMES.map(findDriver));
  const own = found.filter(({ driver }) => driver.detect?.(path)).map(({ driver }) => driver.name);
  return [...new Set([...own, ...READERS])];
}
