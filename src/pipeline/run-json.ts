import type { ModelHandle } from "../models/model-handle.ts";
import { codecs } from "../platform/codec-host/codec-pool.ts";
import { isLargeText, LARGE_MESSAGE_BYTES } from "../platform/codec-host/large-message.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { type InferRequest, type InferResponse, type ServedVersion, toAnswer } from "./infer-request.ts";
import { echoJsonJob, openJsonJob, sealInThread } from "./json-jobs.ts";
import { jsonScratchBytes, openPayload, type Payload } from "./payload.ts";
import { type Step, sealOutputs, unsendable } from "./seal-outputs.ts";
import type { Stages } from "./stages.ts";

/** A pipeline without hooks. */
interface PlainPipeline {
  readonly served: ServedVersion;
  readonly models: readonly ModelHandle[];
  readonly stages: Stages;
}

/**
 * Runs a JSON request through a pipeline without hooks. Codec threads convert large texts to tensors, and tensors to
 * large texts.
 */
export async function runJson(
  request: InferRequest,
  json: Uint8Array,
  { models, stages, served }: PlainPipeline,
): Promise<InferResponse> {
  if (json.length <= LARGE_MESSAGE_BYTES) {
    const step = await stages.run(openPayload(request.inputs), request);
    const sealed = step.giver === undefined ? sealOutputs(step, request, false) : await sealTensors(step, request);
    return toAnswer(served, request, { outputs: sealed });
  }
  const { signal, memory } = request.call;
  const transfer = new Set([json.buffer]);
  const options = { transfer, signal, memory, scratchBytes: jsonScratchBytes(json), costBytes: json.length };
  const first = models.findIndex(({ echoes }) => !echoes);
  const model = models[first];
  if (model === undefined)
    return toAnswer(served, request, { outputs: toPayload(await codecs.run(echoJsonJob, [json], options)) });
  const wanted = model.signatures[stages.signatureOf(model, request)]?.inputs ?? [];
  const specs = wanted.map(({ name, dtype }) => ({ name, dtype }));
  const tensors = await codecs.run(openJsonJob, [json, specs], options);
  const inner: InferRequest = { ...request, inputs: { kind: "tensors", tensors } };
  const step = await stages.run(tensors, inner, { first });
  return toAnswer(served, request, { outputs: await sealTensors(step, request) });
}

async function sealTensors(step: Step, request: InferRequest): Promise<Payload> {
  const tensors = step.values as Tensors;
  if (!isLargeText(Object.values(tensors))) return sealOutputs(step, request, false);
  const sealed = sealInThread(tensors, request.call);
  return toPayload(await sealed.catch((reason) => Promise.reject(unsendable(reason, step))));
}

function toPayload(json: Uint8Array): Payload {
  return { kind: "json", json };
}
