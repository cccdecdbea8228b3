import { ServingError } from "../errors.ts";
import { SERVED } from "../hook-host/other-models.ts";
import type { ModelCall, ModelHandle } from "../model-host/model-handle.ts";
import { RunCounter } from "../model-host/queue/run-statistics.ts";
import { hostInline, type ModelHost } from "../model-host/start-model.ts";
import { requestIdOf } from "../observability/request-id.ts";
import { inferOnce } from "../serving/infer-once.ts";
import type { InferenceService } from "../serving/inference-service.ts";
import { defaultSignatureName } from "../signature/signature.ts";
import type { Tensors } from "../tensor/tensor.ts";

/** Models whose hooks may call one another, at most: more is a circle. */
const MAX_DEPTH = 16;

/** Gives hooks another model of this server, as one that they had loaded. Throws `not_found` where there is none of that name. */
export async function hostServed(service: InferenceService, name: string): Promise<ModelHost> {
  const lease = await service.acquire({ model: name });
  const { signatures } = lease.description;
  lease.release();
  const handle: ModelHandle = {
    driver: SERVED,
    path: name,
    signatures,
    defaultSignature: defaultSignatureName(signatures),
    echoes: false,
    loadMs: 0,
    hookArgs: {},
    predict: (inputs, call) => predict(service, name, { inputs, call }),
    // Those of the model itself are told under its own name.
    statistics: async () => new RunCounter().statistics(),
    close: async () => {},
  };
  return hostInline(handle, handle.close);
}

interface Predict {
  readonly inputs: Tensors;
  readonly call: ModelCall;
}

async function predict(service: InferenceService, model: string, { inputs, call }: Predict): Promise<Tensors> {
  const { signature, outputs, depth = 0, requestId = requestIdOf({}) } = call;
  if (depth >= MAX_DEPTH) throw tooDeep(model);
  const { signal, deadline, priority, queueTimeoutMs, fromHook } = call;
  const limits = { signal, deadline, priority, queueTimeoutMs, depth: depth + 1 };
  const payload = { kind: "tensors", tensors: inputs } as const;
  const request = { model, signature, inputs: payload, outputs, id: requestId, metadata: {}, fromHook, ...limits };
  const answer = await inferOnce(service, request);
  if (answer.outputs.kind === "tensors") return answer.outputs.tensors;
  throw new ServingError("internal", `The model ${model} answered a request for tensors with JSON.`);
}

function tooDeep(model: string): ServingError {
  return new ServingError(
    "internal",
    `The hooks of ${MAX_DEPTH} models have called one another before this call of ${model}; let none call a model that calls it.`,
  );
}
