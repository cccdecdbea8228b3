import { ServingError } from "../errors.ts";
import { checkResponse } from "../hooks/check-response.ts";
import { answersInParts } from "../hooks/generator-hooks.ts";
import type { HookContext, RequestParameters } from "../hooks/hooks.ts";
import { checkInputs } from "../models/check-inputs.ts";
import type { ModelHandle } from "../models/model-handle.ts";
import { codecs } from "../platform/codec-host/codec-pool.ts";
import { LARGE_MESSAGE_BYTES } from "../platform/codec-host/large-message.ts";
import type { Values } from "../tensor/plain-value.ts";
import { type Signature, type TensorSpec, takesImages } from "../tensor/signature/signature.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { BoundModels, BoundStage, type FindModel, OpenStreams } from "./bound-stage.ts";
import { createContext, RequestLogger } from "./context.ts";
import { hookFacts, isDecoupled } from "./hook-places.ts";
import { type InferRequest, type InferResponse, type ServedVersion, toAnswer } from "./infer-request.ts";
import { echoJsonJob, openJsonJob, sealTensors, toPayload } from "./json-jobs.ts";
import { PartedAnswers } from "./parted-answers.ts";
import { type JsonPayload, jsonScratchBytes, openJson, openPayload, type Payload } from "./payload.ts";
import { type RemoteClient, remoteHandle } from "./remote.ts";
import { runRaw } from "./run-raw.ts";
import { pickOutputs, type Step, sealJsonOutputs, sealOutputs } from "./seal-outputs.ts";
import { hookEdges, isSameInput, pipelineSignatures } from "./signatures.ts";
import { type StageParts, Stages } from "./stages.ts";

/** Parts of a pipeline. */
export interface PipelineParts extends StageParts {
  /** The version whose requests it runs. */
  readonly served: ServedVersion;
  /** The value that `init_hook` returned. */
  readonly globalCtx?: unknown;
  readonly remote: RemoteClient;
  /** Finds another model of this server, for hooks. */
  readonly findOther: FindModel;
}

/** Runs requests through pre1 → model1 → post1 → pre2 → … or through `process`. */
export class Pipeline {
  readonly signatures: Readonly<Record<string, Signature>>;
  readonly #parts: PipelineParts;
  readonly #stages: Stages;
  /** True for one model without hooks. */
  readonly #isModelAlone: boolean;
  /** True if its hooks or models answer in parts. */
  readonly #isParted: boolean;
  /** Undefined for a pipeline that answers once, without functions that get bytes. */
  readonly #parted: PartedAnswers | undefined;
  /** True if its hooks make one answer of parts, for requests that take one; else the models do. */
  readonly #joinsParts: boolean;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
    this.#stages = new Stages(parts);
    const { served, hooks, hookTimeoutMs, models } = parts;
    this.#joinsParts = hooks !== undefined && (answersInParts(hooks) || hooks.collect !== undefined);
    this.#isParted = isDecoupled(hooks && hookFacts(hooks), models);
    const mayBeParted = this.#isParted || hooks?.entries !== undefined;
    this.#parted = mayBeParted ? new PartedAnswers({ served, stages: this.#stages, hooks, hookTimeoutMs }) : undefined;
    this.#isModelAlone = parts.hooks === undefined && parts.models.length === 1;
    this.signatures = pipelineSignatures(parts.models, parts.hooks && hookEdges(parts.hooks));
  }

  /** Runs one request; throws only ServingError. */
  async run(request: InferRequest): Promise<InferResponse> {
    try {
      const { parts, raw, inputs } = request;
      const isInParts = raw === undefined && this.#isParted && (parts !== undefined || this.#joinsParts);
      if (isInParts && this.#parted !== undefined) return await this.#runParts(request, this.#parted);
      const isPlain = this.#isModelAlone && inputs.kind === "tensors" && raw === undefined;
      return await (isPlain ? this.#runModel(request) : this.#run(request));
    } catch (reason) {
      const { signal } = request.call;
      if (signal.aborted && !(reason instanceof ServingError)) throw ServingError.from(signal.reason);
      throw ServingError.from(reason);
    }
  }

  /** Ends answers in parts, which could go on for ever; resolves once their hooks have ended, or had their time. */
  async close(): Promise<void> {
    await this.#parted?.close();
  }

  async #run(request: InferRequest): Promise<InferResponse> {
    const { models, hooks, served } = this.#parts;
    const { inputs: payload, raw } = request;
    if (raw !== undefined) {
      const open = (own: InferRequest) => this.#open(own);
      return runRaw(raw, request, { parted: this.#parted, open, ...this.#parts });
    }
    const stages = this.#stages;
    if (hooks === undefined && payload.kind === "json")
      return runJson(request, payload.json, { models, stages, served });
    const received = payload.kind === "json" ? await openJson(payload, request.call.signal) : openPayload(payload);
    if (hooks === undefined) return this.#seal(await stages.run(received, request), request);
    const { ctx, streams } = this.#open(request);
    const inputs = this.#checkDeclared(received, request);
    const { process, begin, release } = hooks;
    try {
      begin?.(ctx, payload.kind === "json");
      const last =
        process === undefined
          ? stages.run(inputs, request, { ctx })
          : stages.runProcess(process, inputs, { request, ctx });
      const step = await last;
      if (payload.kind === "tensors") return this.#seal(step, request, ctx);
      return this.#toAnswer(await sealJsonOutputs(step, hooks, request.call.signal), request, ctx);
    } finally {
      streams.leave();
      release?.(ctx);
    }
  }

  /** Not async: such requests stay for long, and so would each function that waits for another. */
  #runParts(request: InferRequest, parted: PartedAnswers): Promise<InferResponse> {
    const { inputs } = request;
    return inputs.kind === "json"
      ? this.#runJsonParts(request, inputs, parted)
      : this.#runOpenedParts(request, openPayload(inputs), parted);
  }

  async #runJsonParts(request: InferRequest, payload: JsonPayload, parted: PartedAnswers): Promise<InferResponse> {
    const { hooks, models } = this.#parts;
    if (hooks !== undefined) return this.#runOpenedParts(request, await openJson(payload, request.call.signal), parted);
    const large = await openLargeJson(request, payload.json, { models, stages: this.#stages });
    return this.#runOpenedParts(request, large?.tensors ?? openPayload(payload), parted);
  }

  #runOpenedParts(request: InferRequest, values: Values, parted: PartedAnswers): Promise<InferResponse> {
    const { hooks } = this.#parts;
    if (hooks === undefined) return parted.run(request, () => ({ inputs: values, ctx: undefined }));
    const inputs = this.#checkDeclared(values, request);
    let end = () => {};
    const open = (own: InferRequest) => {
      const { ctx, streams } = this.#open(own);
      end = () => {
        streams.leave();
        hooks.release?.(ctx);
      };
      hooks.begin?.(ctx, request.inputs.kind === "json");
      return { inputs, ctx };
    };
    return parted.run(request, open, () => end());
  }

  /**
   * Runs the only model, the most frequent case: each further step would cost a small request a fiftieth of its time.
   */
  async #runModel(request: InferRequest): Promise<InferResponse> {
    const { outputs, targets, call } = request;
    const model = this.#parts.models[0]!;
    const inputs = openPayload(request.inputs) as Tensors;
    const { limits, signal, timeline } = call;
    signal.throwIfAborted();
    const made = await model.predict(inputs, {
      signature: this.#stages.signatureOf(model, request),
      outputs,
      targets,
      transfer: true,
      requestId: this.#stages.tracedId(request),
      limits,
      signal,
      timeline: timeline?.at(1),
    });
    const tensors = outputs === undefined ? made : pickOutputs(made, outputs);
    return toAnswer(this.#parts.served, request, { outputs: { kind: "tensors", tensors } });
  }

  /** Checks the inputs that hooks declare before any hook runs. */
  #checkDeclared(values: Values, request: InferRequest): Values {
    const { models, hooks } = this.#parts;
    const declared = hooks?.inputs;
    if (declared === undefined || request.inputs.kind === "json") return values;
    const [model] = models;
    const inputs = model?.signatures[this.#stages.signatureOf(model, request)]?.inputs;
    return checkDeclared(values as Tensors, { declared, inputs });
  }

  #seal(step: Step, request: InferRequest, ctx?: HookContext): InferResponse {
    return this.#toAnswer(sealOutputs(step, request, this.#parts.hooks), request, ctx);
  }

  #toAnswer(outputs: Payload, request: InferRequest, ctx: HookContext | undefined): InferResponse {
    const { metadata, contentType } = ctx === undefined ? NOTHING_SET : checkResponse(ctx.response);
    return toAnswer(this.#parts.served, request, { outputs, metadata, contentType });
  }

  #open(request: InferRequest): { readonly ctx: HookContext; readonly streams: OpenStreams } {
    const { models, globalCtx, remote, findOther, log, served } = this.#parts;
    const { call, signature, parts } = request;
    const requestId = this.#stages.tracedId(request);
    const streams = new OpenStreams();
    const scope = { call, requestId, streams, parts };
    const ctx = createContext({
      drivers: models.map(
        (model, index) => new BoundStage(model, { stage: index + 1, ...scope }, this.#stages.placeOf(index)),
      ),
      globalCtx,
      request: {
        ...{ id: call.id, model: served.model, version: served.version, signature: signature.name },
        parameters: call.parameters ?? NO_PARAMETERS,
      },
      call,
      parts,
      log: new RequestLogger(log, call.id, call.timeline),
      models: new BoundModels(findOther, scope),
      remote: (address) => remoteHandle(remote, address, { caller: call, streams }),
    });
    return { ctx, streams };
  }
}

const NO_PARAMETERS: RequestParameters = Object.freeze({});

/** By hooks, for an answer without any. */
const NOTHING_SET: { readonly metadata?: undefined; readonly contentType?: undefined } = {};

/** Inputs that hooks declare, and those of the first model. */
interface Declared {
  readonly declared: readonly TensorSpec[];
  readonly inputs: readonly TensorSpec[] | undefined;
}

/** Checks what a client sent against what hooks declare; throws `invalid_argument`. */
function checkDeclared(values: Tensors, { declared, inputs }: Declared): Tensors {
  return checkInputs(values, withImages(declared, values, inputs));
}

/** Inputs that are declared as the model has them also take encoded images, as `bytes`. */
function withImages(
  declared: readonly TensorSpec[],
  values: Tensors,
  inputs: readonly TensorSpec[] = [],
): readonly TensorSpec[] {
  const isImage = (spec: TensorSpec) =>
    values[spec.name]?.dtype === "bytes" && takesImages(spec) && inputs.some((input) => isSameInput(spec, input));
  return declared.map((spec) => (isImage(spec) ? { name: spec.name, dtype: "bytes" } : spec));
}

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
async function runJson(
  request: InferRequest,
  json: Uint8Array,
  { models, stages, served }: PlainPipeline,
): Promise<InferResponse> {
  if (json.length <= LARGE_MESSAGE_BYTES) {
    const step = await stages.run(openPayload(request.inputs), request);
    const sealed = step.giver === undefined ? sealOutputs(step, request, undefined) : await sealTensors(step, request);
    return toAnswer(served, request, { outputs: sealed });
  }
  const large = await openLargeJson(request, json, { models, stages });
  if (large === undefined)
    return toAnswer(served, request, {
      outputs: toPayload(await codecs.run(echoJsonJob, [json], jobOptions(request, json))),
    });
  const { tensors, first } = large;
  const inner: InferRequest = { ...request, inputs: { kind: "tensors", tensors } };
  const step = await stages.run(tensors, inner, { first });
  return toAnswer(served, request, { outputs: await sealTensors(step, request) });
}

/**
 * Converts a large text to the tensors of the first model that does not echo it, whose number they come with;
 * undefined for a small text, and if all models echo it.
 */
async function openLargeJson(
  request: InferRequest,
  json: Uint8Array,
  { models, stages }: Pick<PlainPipeline, "models" | "stages">,
): Promise<{ readonly tensors: Tensors; readonly first: number } | undefined> {
  const first = models.findIndex(({ echoes }) => !echoes);
  const model = models[first];
  if (json.length <= LARGE_MESSAGE_BYTES || model === undefined) return undefined;
  const wanted = model.signatures[stages.signatureOf(model, request)]?.inputs ?? [];
  const specs = wanted.map(({ name, dtype }) => ({ name, dtype }));
  return { tensors: await codecs.run(openJsonJob, [json, specs], jobOptions(request, json)), first };
}

function jobOptions({ call: { signal, memory } }: InferRequest, json: Uint8Array) {
  const transfer = new Set([json.buffer]);
  return { transfer, signal, memory, scratchBytes: jsonScratchBytes(json), costBytes: json.length };
}
