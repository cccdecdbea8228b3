import { failedPrecondition } from "../../../errors.ts";
import { findProvider } from "../backends.ts";
import type { OnnxEngine } from "../engine.ts";
import type { LoadedOnnx } from "../onnx-runtime.ts";
import { toSessionOptions } from "../session-options.ts";
import { NodeSession } from "./node-session.ts";

const NO_CUSTOM_OPS =
  "custom_op_paths is for the engine native, which runs models on the CPU and with CUDA; leave -o engine out.";

/** ONNX Runtime by onnxruntime-node's JavaScript API. */
export function createNodeEngine(runtime: LoadedOnnx): OnnxEngine {
  const { api, source } = runtime;
  const { env, InferenceSession, listSupportedBackends } = api;
  const providers = listSupportedBackends().map(({ name }) => name);
  return {
    name: "node",
    version: env.versions.node ?? env.versions.common,
    source,
    providers,
    load: async (path, { options, bytes }) => {
      if (options.custom_op_paths !== undefined) throw failedPrecondition(NO_CUSTOM_OPS);
      const executionProviders = [findProvider(providers, options)];
      const sessionOptions = { ...toSessionOptions(options), executionProviders };
      env.logLevel = options.ort_log_level;
      const create = (model: string) => InferenceSession.create(model, sessionOptions);
      // The two overloads are not one for the compiler.
      return new NodeSession(api, await create((bytes ?? path) as string));
    },
  };
}
