import { failedPrecondition } from "../../../errors.ts";
import type { Pointer } from "../../../native/bind-functions.ts";
import type { RunLimits } from "../../../native/cancellable-runs.ts";
import { NativeObject } from "../../../native/native-object.ts";
import { PoolCalls } from "../../../native/pool-calls.ts";
import { type FoundOnnx, libraryOf } from "../../../runtimes/onnx.ts";
import type { DriverHost } from "../../driver.ts";
import type { OnnxEngine } from "../engine.ts";
import { type OnnxOptions, toSessionOptions } from "../session-options.ts";
import { loadSession } from "./load-session.ts";
import { NativeSession } from "./native-session.ts";
import { type NativeContext, openOnnx } from "./open-onnx.ts";
import { listProviders } from "./providers.ts";
import { SharedSession } from "./shared-session.ts";

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
      const { custom_op_paths: customOpPaths } = options;
      const settings = { ...toSessionOptions(providers, withThreads(options, host)), customOpPaths };
      const session = shareSession(context, host, () => loadSession(context, path, settings));
      return new NativeSession(context, session, {
        hasBoundedRuns,
        poolCalls: new PoolCalls(host.poolCalls),
        ...toLimits(host),
      });
    },
  };
}

/** The session of this copy of the model: the copies have one, and its weights, in common. */
function shareSession(
  { api }: NativeContext,
  { copies }: Pick<DriverHost, "copies">,
  load: () => Pointer,
): NativeObject {
  if (copies === undefined) return new NativeObject(load(), api.ReleaseSession);
  const shared = new SharedSession(copies.memory);
  return new NativeObject(shared.acquire(load), () => shared.release(api.ReleaseSession));
}

/** Threads for the runs of all copies at once, each of which brings its own: together as many as if each had a session. */
function withThreads(options: OnnxOptions, { copies }: Pick<DriverHost, "copies">): OnnxOptions {
  const count = copies?.count ?? 1;
  return { ...options, intra_op_threads: (options.intra_op_threads - 1) * count + 1 };
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
