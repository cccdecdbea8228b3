import { codecs, type JobOptions } from "../platform/codec-host/codec-pool.ts";
import { encodingBytes } from "../platform/codec-host/encoding-bytes.ts";
import { defineJob } from "../platform/codec-host/job.ts";
import { isLargeText } from "../platform/codec-host/large-message.ts";
import { toTensors } from "../tensor/plain-value.ts";
import type { TensorSpec } from "../tensor/signature/signature.ts";
import type { Tensors } from "../tensor/tensor.ts";
import type { InferRequest } from "./infer-request.ts";
import { cutJson } from "./json-cutter.ts";
import { checkJsonObject, type JsonPayload, openLargeJson, type Payload, sealJson } from "./payload.ts";
import { type Step, sealOutputs, unsendable } from "./seal-outputs.ts";

/** The parts of an input that decide the dtype of a value. */
export type WantedInput = Pick<TensorSpec, "name" | "dtype">;

/** The values of a JSON object as tensors, with the dtypes that a model takes. */
export const openJsonJob = defineJob(
  import.meta.url,
  "openJsonJob",
  (json: Uint8Array, wanted: readonly WantedInput[]): Tensors => {
    const dtypes = new Map(wanted.map(({ name, dtype }) => [name, dtype]));
    return toTensors(openLargeJson(json), (name) => dtypes.get(name));
  },
);

/**
 * Reformats a JSON object for models that return their inputs: the text that
 * JSON.stringify makes of what JSON.parse reads.
 */
export const echoJsonJob = defineJob(import.meta.url, "echoJsonJob", (json: Uint8Array) =>
  sealJson(openLargeJson(json)),
);

/** Texts up to this size are parsed at once where hooks run, in bytes: what takes longest then takes some 40 ms. */
const CUT_BYTES = 1024 * 1024;

/**
 * Checks a JSON object, and finds the steps by which it can be parsed in turns.
 * @public Codec threads import it by its name.
 */
export const cutJsonJob = defineJob(import.meta.url, "cutJsonJob", (json: Uint8Array): JsonPayload => {
  checkJsonObject(json);
  return { kind: "json", json, steps: cutJson(json) };
});

/** Checks if JSON would hold a thread of hooks, which other requests need too. */
export function isLargeJson({ inputs, raw }: InferRequest): boolean {
  return inputs.kind === "json" && inputs.json.length > CUT_BYTES && inputs.steps === undefined && raw === undefined;
}

/** The same request with JSON that can be parsed in turns; throws `invalid_argument` if it is none. */
export async function cutLargeJson(request: InferRequest): Promise<InferRequest> {
  const { json } = request.inputs as JsonPayload;
  const { signal, memory } = request.call;
  const transfer = new Set([json.buffer]);
  const options = { transfer, signal, memory, costBytes: json.length };
  return { ...request, inputs: await codecs.run(cutJsonJob, [json], options) };
}

/**
 * Tensors as the text of a JSON object.
 * @public Codec threads import it by its name.
 */
export const sealJsonJob = defineJob(import.meta.url, "sealJsonJob", (tensors: Tensors) => sealJson(tensors));

/** Writes tensors that no other code uses in a codec thread. */
function sealInThread(
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

/** Seals the outputs of a pipeline without hooks for a request in JSON; a codec thread writes large ones. */
export async function sealTensors(step: Step, request: InferRequest): Promise<Payload> {
  const tensors = step.values as Tensors;
  if (!isLargeText(Object.values(tensors))) return sealOutputs(step, request, undefined);
  const sealed = sealInThread(tensors, request.call);
  return toPayload(await sealed.catch((reason) => Promise.reject(unsendable(reason, step))));
}

/** A text as a payload. */
export function toPayload(json: Uint8Array): Payload {
  return { kind: "json", json };
}
