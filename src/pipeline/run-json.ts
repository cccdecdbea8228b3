import { codecs } from "../codec-host/codec-pool.ts";
import { isLargeText, LARGE_MESSAGE_BYTES } from "../codec-host/large-message.ts";
import type { ModelHandle } from "../model-host/model-handle.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { echoJsonJob, openJsonJob, sealInThread } from "./json-jobs.ts";
import { jsonScratchBytes, openPayload } from "./payload.ts";
import type { PipelineRequest, PipelineResult } from "./pipeline-request.ts";
import { type Step, sealOutputs, unsendable } from "./seal-outputs.ts";
import type { Stages } from "./stages.ts";

/** A pipeline without hooks. */
interface PlainPipeline {
  readonly models: readonly ModelHandle[];
  readonly stages: Stages;
}

/**
 * Runs a JSON request through a pipeline without hooks. Codec threads convert large texts to tensors, and tensors to
 * large texts.
 */
export async function runJson(
  request: PipelineRequest,
  json: Uint8Array,
  { models, stages }: PlainPipeline,
): Promise<PipelineResult> {
  if (json.length <= LARGE_MESSAGE_BYTES) {
    const step = await stages.run(openPayload(request.inputs), request);
    return step.giver === undefined ? seal(step, request) : sealTensors(step, request);
  }
  const { signal, memory } = request.call;
  const transfer = new Set([json.buffer]);
  const options = { transfer, signal, memory, scratchBytes: jsonScratchBytes(json), costBytes: json.length };
  const first = models.findIndex(({ echoes }) => !echoes);
  const model = models[first];
  if (model === undefined) return toResult(await codecs.run(echoJsonJob, [json], options));
  const wanted = model.signatures[stages.signatureOf(model, request)]?.inputs ?? [];
  const specs = wanted.map(({ name, dtype }) => ({ name, dtype }));
  const tensors = await codecs.run(openJsonJob, [json, specs], options);
  const inner: PipelineRequest = { ...request, inputs: { kind: "tensors", tensors } };
  return sealTensors(await stages.run(tensors, inner, { first }), request);
}

async function sealTensors(step: Step, request: PipelineRequest): Promise<PipelineResult> {
  const tensors = step.values as Tensors;
  if (!isLargeText(Object.values(tensors))) return seal(step, request);
  const sealed = sealInThread(tensors, request.call);
  return toResult(await sealed.catch((reason) => Promise.reject(unsendable(reason, step))));
}

function seal(step: Step, request: PipelineRequest): PipelineResult {
  return { outputs: sealOutputs(step, request, false), metadata: {} };
}

function toResult(json: Uint8Array): PipelineResult {
  return { outputs: { kind: "json", json }, metadata: {} };
}
