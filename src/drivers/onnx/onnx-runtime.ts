import { pathToFileURL } from "node:url";
import { failedPrecondition, reasonText, type ServingError } from "../../errors.ts";
import { missingRuntime } from "../../storage/runtimes/find-library.ts";
import { onnx } from "../../storage/runtimes/native-runtimes.ts";
import { entryOf, type FoundOnnx, findOnnx, ONNX_PLACES } from "../../storage/runtimes/onnx.ts";

/** ONNX Runtime's JavaScript API. */
export type OnnxRuntime = typeof import("onnxruntime-node");

/** A copy of ONNX Runtime that was loaded. */
export interface LoadedOnnx extends FoundOnnx {
  readonly api: OnnxRuntime;
}

/**
 * Imports the first copy of ONNX Runtime that loads. Throws `failed_precondition` with the way to install it if
 * there is none, and with the first copy's error if none loads.
 */
export async function importOnnxRuntime(copies: readonly FoundOnnx[] = findOnnx()): Promise<LoadedOnnx> {
  const failures: unknown[] = [];
  for (const copy of copies) {
    try {
      return { ...copy, api: await importCopy(copy.path) };
    } catch (cause) {
      failures.push(cause);
    }
  }
  const [first] = copies;
  if (first === undefined) throw missingRuntime({ ...onnx, looked: ONNX_PLACES });
  throw doesNotLoad(first, failures[0]);
}

async function importCopy(path: string): Promise<OnnxRuntime> {
  const module = (await import(pathToFileURL(entryOf(path)).href)) as { default?: OnnxRuntime } & OnnxRuntime;
  return module.default ?? module;
}

function doesNotLoad({ path, source }: FoundOnnx, cause: unknown): ServingError {
  const { code } = (cause ?? {}) as NodeJS.ErrnoException;
  const platform = `${process.platform} ${process.arch}`;
  const firstLine = reasonText(cause).split("\n", 1)[0]!;
  const why =
    code === "MODULE_NOT_FOUND"
      ? `has no native library for ${platform}, or is incomplete`
      : `does not load on ${platform}: ${firstLine}`;
  const message = `${onnx.title} of ${source} ${why} (${path}). Run: kserving runtimes install onnx (kserving runtimes list shows what is found where). The other drivers work without it.`;
  return failedPrecondition(message, cause);
}
