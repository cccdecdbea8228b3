import { failedPrecondition, ServingError } from "../../errors.ts";
import { SERVED } from "../../hooks/host/other-models.ts";
import { hostInline } from "../../models/host-inline.ts";
import type { ModelCall, ModelHandle } from "../../models/model-handle.ts";
import type { ModelHost } from "../../models/model-host.ts";
import { RunCounter } from "../../models/queue/run-statistics.ts";
import { requestIdOf } from "../../observability/request-id.ts";
import { steadyMs } from "../../observability/steady-clock.ts";
import type { Timeline } from "../../observability/timeline.ts";
import { copyTensors } from "../../tensor/packed-tensor.ts";
import { defaultSignatureName } from "../../tensor/signature/signature.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import { inferOnce } from "../infer-once.ts";
import type { InferenceService, InferResponse, ModelRef } from "../inference-service.ts";
import { errorFor } from "../naming-error.ts";

/** Maximum depth of calls from model to model by hooks: more means a circle. */
const MAX_DEPTH = 16;

/** The part of a service that runs its models. */
type Acquiring = Pick<InferenceService, "acquire">;

/** A model of this server, and its version if that is not to be the highest. */
export interface ServedRef {
  readonly model: string;
  readonly version?: number | undefined;
  /**
   * True for a stage of a pipeline, which is loaded again if the version that answers by then does so in another way
   * than the one of now. Default false: each call may be answered in parts.
   */
  readonly isStage?: boolean;
}

/**
 * Gives hooks another model of this server, like one that they loaded. Throws
 * `not_found` if there is none of that name.
 */
export async function hostServed(
  service: Acquiring | undefined,
  { model: name, version: number, isStage = false }: ServedRef,
): Promise<ModelHost> {
  const version = number === undefined ? undefined : BigInt(number);
  if (service === undefined)
    throw failedPrecondition(`There is no server here, and no other model "${name}"; start one with createServer.`);
  const lease = await service.acquire({ model: name, version });
  const { signatures, decoupled } = lease.description;
  lease.release();
  const handle: ModelHandle = {
    driver: SERVED,
    path: name,
    signatures,
    defaultSignature: defaultSignatureName(signatures),
    echoes: false,
    ...((decoupled === true || !isStage) && { decoupled: true }),
    loadMs: 0,
    hookArgs: {},
    // A request transfers its tensors, which a hook of this thread may have kept.
    predict: (inputs, call) => {
      const own = call.transfer ? inputs : copyTensors(inputs);
      return predict(service, { model: name, version }, { inputs: own, call });
    },
    // Runs of the model itself are reported under its own name.
    statistics: async () => new RunCounter().statistics(),
    close: async () => {},
  };
  // Tensors from another thread have no other user.
  const giving = {
    ...handle,
    predict: (inputs: Tensors, call: ModelCall) => predict(service, { model: name, version }, { inputs, call }),
  };
  return { ...hostInline(giving, handle.close), handle };
}

/**
 * Gives a pipeline another model of this server as a stage. Each call takes the version that is available then. If
 * there is none, it throws `unavailable`: it is not the fault of the client, which named another model.
 */
export async function hostStage(service: Acquiring | undefined, stage: ServedRef): Promise<ModelHost> {
  const acquire: Acquiring["acquire"] = async (ref, request) => {
    try {
      return await (service as Acquiring).acquire(ref, request);
    } catch (reason) {
      throw notAvailable(stage.model, reason);
    }
  };
  return hostServed(service && { acquire }, { ...stage, isStage: true });
}

function notAvailable(name: string, reason: unknown): unknown {
  if (!(reason instanceof ServingError) || reason.code !== "not_found") return reason;
  // The client may not know of the others.
  const { message: why } = errorFor(reason, () => false);
  const message = `The model "${name}", which is a stage of this one, is not available: ${why}`;
  return new ServingError("unavailable", message, { cause: reason });
}

interface Predict {
  readonly inputs: Tensors;
  readonly call: ModelCall;
}

async function predict(
  service: Acquiring,
  { model, version }: Pick<ModelRef, "model" | "version">,
  { inputs, call }: Predict,
): Promise<Tensors> {
  const { signature, outputs, requestId, limits, signal, timeline, parts } = call;
  const depth = limits?.depth ?? 0;
  if (depth >= MAX_DEPTH) throw tooDeep(model);
  const id = timeline?.newId();
  const request = {
    ref: { model, version },
    signature,
    inputs: { kind: "tensors", tensors: inputs } as const,
    outputs,
    parts: parts && {
      write: (part: InferResponse) => parts.write(tensorsOf(part)),
      crowded: () => parts.crowded?.(),
    },
    call: {
      id: requestId ?? requestIdOf({}),
      metadata: {},
      limits: { ...limits, depth: depth + 1 },
      signal,
      timeline: timeline?.inside(id),
    },
  };
  const answer = await timed(() => inferOnce(service, request), { timeline, id, name: model });
  const tensors = tensorsOf(answer);
  // The version that answers now may not be one that answers in parts.
  if (parts === undefined || answer.parts !== undefined) return tensors;
  await parts.write(tensors);
  return {};
}

function tensorsOf({ model, outputs }: InferResponse): Tensors {
  if (outputs.kind === "tensors") return outputs.tensors;
  throw new ServingError("internal", `The model ${model} answered a request for tensors with JSON.`);
}

interface TimedCall {
  readonly timeline: Timeline | undefined;
  readonly id: string | undefined;
  readonly name: string;
}

/** Notes the time of a call of another model among the parts of the request that it is for. */
async function timed<Result>(run: () => Promise<Result>, { timeline, ...facts }: TimedCall): Promise<Result> {
  if (timeline === undefined) return run();
  const start = steadyMs();
  let code: string | undefined;
  try {
    return await run();
  } catch (reason) {
    code = ServingError.from(reason).code;
    throw reason;
  } finally {
    timeline.add("model", start, steadyMs(), { ...facts, code });
  }
}

function tooDeep(model: string): ServingError {
  return new ServingError(
    "internal",
    `The hooks of ${MAX_DEPTH} models have called one another before this call of ${model}; let none call a model that calls it.`,
  );
}
