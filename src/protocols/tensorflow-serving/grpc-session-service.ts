import { invalidArgument, ServingError } from "../../errors.ts";
import type { CallInfo, GrpcProtocolOptions, GrpcRoutes, UnaryMethod } from "../../grpc/grpc-route.ts";
import { decodeInThread, encodeInThread } from "../../platform/codec-host/codec-jobs.ts";
import type { InferenceService, Lease } from "../../serving/inference-service.ts";
import { assertNames } from "../../tensor/signature/choose-signature.ts";
import { answeredTensors } from "../answered-tensors.ts";
import { isLargeResponse, PREDICT_NESTING } from "./grpc-codec.ts";
import { assertNamesModel } from "./model-spec.ts";
import {
  decodeSessionRunJob,
  decodeSessionRunQuickly,
  frameSessionRun,
  frameSessionRunJob,
  recordedSessionResponse,
  recordedSessionRun,
  type SessionRunRequest,
  type SessionRunResponse,
} from "./session-run-codec.ts";

const SESSION_SERVICE = "tensorflow.serving.SessionService";

/** The route of TensorFlow Serving's SessionService, which runs parts of a graph by the names of its tensors. */
export function sessionServiceRoutes(service: InferenceService, options: GrpcProtocolOptions): GrpcRoutes {
  const method = sessionRunMethod(service, options);
  return { [`/${SESSION_SERVICE}/SessionRun`]: { kind: "inference", method, nesting: PREDICT_NESTING } };
}

function sessionRunMethod(service: InferenceService, options: GrpcProtocolOptions): UnaryMethod {
  const encoding = options.settings.tensorContent ? "content" : "typed";
  return async (message, call) => {
    const { maxMessageBytes: maxBytes } = options;
    const request =
      decodeSessionRunQuickly(message, maxBytes) ??
      (await decodeInThread(decodeSessionRunJob, [message, maxBytes], { ...call, message, maxBytes }));
    const { spec } = request;
    if (options.settings.requireModelSpec) assertNamesModel(spec);
    call.record.model = spec.model;
    const response = await run(
      await service.acquire(spec, { metadata: call.metadata, ignoresTraffic: true }),
      request,
      call,
    );
    if (isLargeResponse({ outputs: response.tensors }, encoding)) {
      return { message: await encodeInThread(frameSessionRunJob, [response, encoding, true], call) };
    }
    return { message: frameSessionRun(response, encoding, call.memory.isWireOnly) };
  };
}

async function run(lease: Lease, request: SessionRunRequest, call: CallInfo): Promise<SessionRunResponse> {
  try {
    const { feeds, fetches, targets, timeoutMs } = request;
    const { model, graphRefusal = "another server runs it" } = lease.description;
    if (graphRefusal !== "") {
      throw new ServingError(
        "unimplemented",
        `SessionRun feeds and fetches the tensors of a TensorFlow graph, which the model "${model}" does not offer: ${graphRefusal}. Call Predict.`,
      );
    }
    if (fetches.length + targets.length === 0) {
      throw invalidArgument("Must specify at least one target to fetch or execute.");
    }
    assertNames(Object.keys(feeds), fetches, targets);
    const recording = lease.recordAs?.("session_run_log", recordedSessionRun(request));
    const answer = await lease.infer({
      signature: { name: "", spec: undefined },
      inputs: { kind: "tensors", tensors: feeds },
      outputs: fetches,
      targets,
      call: withTimeout(call, timeoutMs),
    });
    const { versionEncoding } = request.spec;
    const resolved = { model: answer.model, version: answer.version, signature: "", versionEncoding };
    const response = { spec: resolved, tensors: answeredTensors(answer) };
    recording?.finish(recordedSessionResponse(response));
    return response;
  } finally {
    lease.release();
  }
}

/** The earlier one of the call's own deadline and RunOptions.timeout_in_ms. */
function withTimeout(call: CallInfo, timeoutMs: number): CallInfo {
  if (timeoutMs === 0) return call;
  const deadline = Date.now() + timeoutMs;
  const { limits } = call;
  if (limits?.deadline !== undefined && limits.deadline <= deadline) return call;
  return { ...call, limits: { ...limits, deadline } };
}
