import { reasonText } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import { missingRuntime } from "../../runtimes/missing-runtime.ts";
import { type FoundOnnx, findOnnx, ONNX_PLACES, onnx } from "../../runtimes/onnx.ts";
import type { OnnxEngine } from "./engine.ts";
import { importOnnxRuntime } from "./onnx-runtime.ts";
import { logLevelOf, type OnnxOptions } from "./session-options.ts";

/**
 * Opens the engine that the options ask for: `auto` is the C API where a library can be called and the CPU computes, else the JavaScript
 * API. Throws `failed_precondition` with the way to install ONNX Runtime where there is none.
 */
export async function openEngine(
  options: OnnxOptions,
  log: Logger,
  copies: readonly FoundOnnx[] = findOnnx(),
): Promise<OnnxEngine> {
  const isAuto = options.engine === "auto";
  if (options.engine === "node" || (isAuto && options.runtime_backend !== "CPU")) return openNode(copies);
  try {
    return await openNative(copies, options);
  } catch (reason) {
    if (!isAuto || copies.length === 0) throw reason;
    const engine = await openNode(copies);
    log.warn(`ONNX Runtime is called by its JavaScript API, which cannot end a run: ${reasonText(reason)}`);
    return engine;
  }
}

/** Takes the first copy whose library can be called. */
async function openNative(copies: readonly FoundOnnx[], options: OnnxOptions): Promise<OnnxEngine> {
  const { openNativeEngine } = await import("./native/native-engine.ts");
  const failures: unknown[] = [];
  for (const copy of copies) {
    try {
      return openNativeEngine(copy, logLevelOf(options));
    } catch (reason) {
      failures.push(reason);
    }
  }
  throw failures[0] ?? missingRuntime({ ...onnx, looked: ONNX_PLACES });
}

async function openNode(copies: readonly FoundOnnx[]): Promise<OnnxEngine> {
  const { createNodeEngine } = await import("./node/node-engine.ts");
  return createNodeEngine(await importOnnxRuntime(copies));
}
