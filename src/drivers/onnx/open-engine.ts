import { failedPrecondition, reasonText } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import { findLibrary, lookedIn, missingRuntime } from "../../storage/runtimes/find-library.ts";
import { onnx, onnxCuda } from "../../storage/runtimes/native-runtimes.ts";
import { type FoundOnnx, findOnnx, libraryOf, ONNX_PLACES } from "../../storage/runtimes/onnx.ts";
import { BOOLEANS } from "../option-table.ts";
import type { OnnxEngine } from "./engine.ts";
import { importOnnxRuntime } from "./onnx-runtime.ts";
import { logLevelOf, type OnnxOptions } from "./session-options.ts";

/**
 * Opens the engine that the options ask for: `auto` is the C API if a library can be called and the CPU or CUDA
 * computes, else the JavaScript API. Throws `failed_precondition` with the way to install ONNX Runtime if there is
 * none, and with what CUDA lacks.
 */
export async function openEngine(
  options: OnnxOptions,
  log: Logger,
  copies: readonly FoundOnnx[] = findOnnx(),
): Promise<OnnxEngine> {
  const isAuto = options.engine === "auto";
  if (options.engine !== "node" && isForCuda(options.runtime_backend)) return openOnCuda(options);
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
      return openNativeEngine({ ...copy, library: libraryOf(copy.path) }, logLevelOf(options));
    } catch (reason) {
      failures.push(reason);
    }
  }
  throw failures[0] ?? missingRuntime({ ...onnx, looked: ONNX_PLACES });
}

/** On other systems GPU is DirectML or CoreML, which the JavaScript API has. */
function isForCuda(backend: OnnxOptions["runtime_backend"]): boolean {
  return ["CUDA", "TENSORRT"].includes(backend) || (backend === "GPU" && process.platform === "linux");
}

async function openOnCuda(options: OnnxOptions): Promise<OnnxEngine> {
  const found = findLibrary(onnxCuda);
  if (found === undefined) {
    throw missingRuntime({ ...onnxCuda, name: onnxCuda.install, looked: lookedIn(onnxCuda) });
  }
  const { openNativeEngine } = await import("./native/native-engine.ts");
  const { openCuda } = await import("../../storage/runtimes/cuda.ts");
  const { gpus } = openCuda(found.path, { cudnn: usesCudnn(options) });
  const { device_id: id } = options;
  const device = gpus[id];
  if (device !== undefined)
    return openNativeEngine({ library: found.path, source: found.source, device }, logLevelOf(options));
  throw failedPrecondition(`device_id is ${id}; the last GPU here is ${gpus.length - 1} (${gpus.at(-1)}).`);
}

function usesCudnn({ ep }: OnnxOptions): boolean {
  return BOOLEANS.get(ep.enable_cudnn?.toLowerCase() ?? "") !== false;
}

async function openNode(copies: readonly FoundOnnx[]): Promise<OnnxEngine> {
  const { createNodeEngine } = await import("./node/node-engine.ts");
  return createNodeEngine(await importOnnxRuntime(copies));
}
