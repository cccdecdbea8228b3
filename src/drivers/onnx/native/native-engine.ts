import { failedPrecondition } from "../../../errors.ts";
import type { RunLimits } from "../../../native/cancellable-runs.ts";
import { type FoundOnnx, libraryOf } from "../../../runtimes/onnx.ts";
import type { DriverHost } from "../../driver.ts";
import type { OnnxEngine } from "../engine.ts";
import { toSessionOptions } from "../session-options.ts";
import { loadSession } from "./load-session.ts";
import { NativeSession } from "./native-session.ts";
import { openOnnx } from "./open-onnx.ts";
import { listProviders } from "./providers.ts";

const CPU_ALONE = "The engine native runs models on the CPU alone; leave -o engine out.";
const STUCK =
  "a run whose request is over does not end, and others wait for it; if that goes on for --model-stall, the model is loaded again";

/** ONNX Runtime by its C API. Throws `failed_precondition` where the library of this copy cannot be called. */
export function openNativeEngine({ path, source }: FoundOnnx, logLevel: number): OnnxEngine {
  const context = openOnnx(libraryOf(path), logLevel);
  const providers = listProviders(context);
  return {
    name: "native",
    version: context.version,
    source,
    providers,
    load: async (path, { options, host, hasBoundedRuns }) => {
      if (options.runtime_backend !== "CPU") throw failedPrecondition(CPU_ALONE);
      const session = loadSession(context, path, toSessionOptions(providers, options));
      return new NativeSession(context, session, { hasBoundedRuns, ...toLimits(host) });
    },
  };
}

/** A session makes one run at a time. */
function toLimits({ log, reportStuck }: DriverHost): RunLimits {
  let onFreed = () => {};
  const onStuck = () => {
    log.error(STUCK);
    onFreed = reportStuck?.() ?? onFreed;
  };
  return { limit: 1, onStuck, onFreed: () => onFreed() };
}
