import { ServingError } from "../errors.ts";
import { checkResponse } from "../hooks/check-response.ts";
import type { HookContext } from "../hooks/hooks.ts";
import { checkInputs } from "../models/check-inputs.ts";
import { RequestLogger } from "../observability/request-logger.ts";
import type { Values } from "../tensor/plain-value.ts";
import { type Signature, type TensorSpec, takesImages } from "../tensor/signature/signature.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { BoundModels, BoundStage, type FindModel } from "./bound-stage.ts";
import { createContext } from "./context.ts";
import { type InferRequest, type InferResponse, type ServedVersion, toAnswer } from "./infer-request.ts";
import { openJson, openPayload } from "./payload.ts";
import { type RemoteClient, remoteHandle } from "./remote.ts";
import { runJson } from "./run-json.ts";
import { runRaw } from "./run-raw.ts";
import { pickOutputs, type Step, sealOutputs } from "./seal-outputs.ts";
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

  constructor(parts: PipelineParts) {
    this.#parts = parts;
    this.#stages = new Stages(parts);
    this.#isModelAlone = parts.hooks === undefined && parts.models.length === 1;
    this.signatures = pipelineSignatures(parts.models, parts.hooks && hookEdges(parts.hooks));
  }

  /** Runs one request; throws only ServingError. */
  async run(request: InferRequest): Promise<InferResponse> {
    try {
      return await (this.#isModelAlone && request.inputs.kind === "tensors" && request.raw === undefined
        ? this.#runModel(request)
        : this.#run(request));
    } catch (reason) {
      const { signal } = request.call;
      if (signal.aborted && !(reason instanceof ServingError)) throw ServingError.from(signal.reason);
      throw ServingError.from(reason);
    }
  }

  async #run(request: InferRequest): Promise<InferResponse> {
    const { models, hooks, served } = this.#parts;
    const { inputs: payload, raw } = request;
    if (raw !== undefined) return runRaw(raw, request, { ...this.#parts, open: () => this.#context(request) });
    const stages = this.#stages;
    if (hooks === undefined && payload.kind === "json")
      return runJson(request, payload.json, { models, stages, served });
    const received = payload.kind === "json" ? await openJson(payload, request.call.signal) : openPayload(payload);
    if (hooks === undefined) return this.#seal(await stages.run(received, request), request, undefined);
    const ctx = this.#context(request);
    const inputs = this.#checkDeclared(received, request);
    const { process, begin, release } = hooks;
    try {
      begin?.(ctx, payload.kind === "json");
      const last =
        process === undefined
          ? stages.run(inputs, request, { ctx })
          : stages.runProcess(process, inputs, { request, ctx });
      return this.#seal(await last, request, ctx);
    } finally {
      release?.(ctx);
    }
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

  #seal(step: Step, request: InferRequest, ctx: HookContext | undefined): InferResponse {
    const { hooks, served } = this.#parts;
    const { metadata, contentType } = ctx === undefined ? NOTHING_SET : checkResponse(ctx.response);
    return toAnswer(served, request, {
      outputs: sealOutputs(step, request, hooks !== undefined),
      metadata,
      contentType,
    });
  }

  #context(request: InferRequest): HookContext {
    const { models, globalCtx, remote, findOther, log, served } = this.#parts;
    const { call, signature } = request;
    const requestId = this.#stages.tracedId(request);
    return createContext({
      drivers: models.map(
        (model, index) => new BoundStage(model, { call, requestId, stage: index + 1 }, this.#stages.placeOf(index)),
      ),
      globalCtx,
      request: { id: call.id, model: served.model, version: served.version, signature: signature.name },
      call,
      log: new RequestLogger(log, call.id, call.timeline),
      models: new BoundModels(findOther, { call, requestId }),
      remote: (address) => remoteHandle(remote, address, call),
    });
  }
}

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
