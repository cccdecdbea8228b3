import type { ModelHandle } from "../../model-host/model-handle.ts";
import { openPayload } from "../../pipeline/payload.ts";
import type { WarmedThread } from "../../pipeline/runner.ts";
import type { Tensors } from "../../tensor/tensor.ts";

/** A single model as a pipeline. */
export function toRunner(handle: ModelHandle): WarmedThread {
  const { signatures, defaultSignature } = handle;
  return {
    signatures,
    run: async ({ info, inputs, outputs, call }) => {
      const signature = info.signature || defaultSignature;
      const { signal, warmUp } = call;
      const made = await handle.predict(openPayload(inputs) as Tensors, { signature, outputs, signal, warmUp });
      return { outputs: { kind: "tensors", tensors: made }, metadata: {} };
    },
  };
}
