import type { JobOptions } from "../codec-host/codec-pool.ts";
import { codecs } from "../codec-host/codecs.ts";
import { encodingBytes } from "../codec-host/encoding-bytes.ts";
import { defineJob } from "../codec-host/job.ts";
import type { TensorSpec } from "../signature/signature.ts";
import { toTensors } from "../tensor/plain-value.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { openPayload, sealJson } from "./payload.ts";

/** The parts of an input that decide the dtype of a value. */
export type WantedInput = Pick<TensorSpec, "name" | "dtype">;

/** The values of a JSON object as tensors, with the dtypes that a model takes. */
export const openJsonJob = defineJob(
  import.meta.url,
  "openJsonJob",
  (json: Uint8Array, wanted: readonly WantedInput[]): Tensors => {
    const dtypes = new Map(wanted.map(({ name, dtype }) => [name, dtype]));
    return toTensors(openPayload({ kind: "json", json }), (name) => dtypes.get(name));
  },
);

/**
 * Reformats a JSON object for models that return their inputs: the text that
 * JSON.stringify makes of what JSON.parse reads.
 */
export const echoJsonJob = defineJob(import.meta.url, "echoJsonJob", (json: Uint8Array) =>
  new TextEncoder().encode(JSON.stringify(openPayload({ kind: "json", json }))),
);

/**
 * Tensors as the text of a JSON object.
 * @public Codec threads import it by its name.
 */
export const sealJsonJob = defineJob(import.meta.url, "sealJsonJob", (tensors: Tensors) => sealJson(tensors));

/** Writes tensors that no other code uses in a codec thread. */
export function sealInThread(
  tensors: Tensors,
  { signal, memory }: Pick<JobOptions, "signal" | "memory">,
): Promise<Uint8Array> {
  return codecs.run(sealJsonJob, [tensors], {
    signal,
    memory,
    transfer: "owned",
    scratchBytes: encodingBytes([tensors], "text"),
  });
}
