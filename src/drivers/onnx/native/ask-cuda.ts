import { reasonText } from "../../../errors.ts";
import { openCuda } from "../../../storage/runtimes/cuda.ts";
import type { RuntimeFacts } from "../../../storage/runtimes/probe.ts";
import { addProvider } from "./load-session.ts";
import { type NativeContext, openOnnx, takePointer } from "./open-onnx.ts";

/** ONNX Runtime's own log, which would go to standard error. */
const FATAL = 4;

/**
 * Version and GPUs of an ONNX Runtime library with CUDA, or what CUDA lacks here. Throws `failed_precondition` if
 * the library itself does not load.
 */
export function askCuda(library: string): RuntimeFacts {
  const context = openOnnx(library, FATAL);
  const { version } = context;
  try {
    const { gpus } = openCuda(library);
    loadProvider(context);
    return { version, devices: ["cpu", ...gpus.map((name, id) => `cuda:${id} ${name}`)] };
  } catch (reason) {
    return { version, devices: ["cpu"], lacks: reasonText(reason) };
  }
}

function loadProvider(context: NativeContext): void {
  const { api } = context;
  const settings = takePointer(api, (at) => api.CreateSessionOptions(at));
  try {
    addProvider(context, settings, { name: "cuda", options: {} });
  } finally {
    api.ReleaseSessionOptions(settings);
  }
}
