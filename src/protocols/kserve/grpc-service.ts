import type { CreateGrpcProtocol, GrpcProtocolOptions, UnaryMethod } from "../../grpc/grpc-route.ts";
import { decodeInThread, encodeInThread } from "../../platform/codec-host/codec-jobs.ts";
import { SMALL_REQUEST_BYTES } from "../../platform/limits/transport-limits.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { ADMIN_CALL_NAMES, adminKind, adminMethod, LOAD_CALL } from "./grpc-admin.ts";
import { decodeInferRequestJob, decodeInferRequestQuickly, INFER_NESTING } from "./grpc-request.ts";
import { frameInferResponse, frameInferResponseJob, isLargeResponse } from "./grpc-response.ts";
import { inferStreamMethod } from "./grpc-stream.ts";
import { inferKserve } from "./infer-kserve.ts";

/** The service of KServe V2 (the Open Inference Protocol), as Triton and OpenVINO Model Server serve it too. */
const KSERVE_SERVICE = "inference.GRPCInferenceService";

/** The gRPC part of KServe V2. */
export const createKserveGrpc: CreateGrpcProtocol = (service, options) => {
  const context = { ...options, service };
  const pathOf = (name: string) => `/${KSERVE_SERVICE}/${name}`;
  const admin = ADMIN_CALL_NAMES.map((name) => {
    const route = {
      kind: adminKind(name),
      method: adminMethod(name, context),
      ...(name !== LOAD_CALL && { maxBytes: SMALL_REQUEST_BYTES }),
    };
    return [pathOf(name), route] as const;
  });
  return {
    routes: {
      [pathOf("ModelInfer")]: { kind: "inference", method: inferMethod(service, options), nesting: INFER_NESTING },
      [pathOf("ModelStreamInfer")]: { kind: "inference", stream: inferStreamMethod(service, options) },
      ...Object.fromEntries(admin),
    },
  };
};

function inferMethod(service: InferenceService, options: GrpcProtocolOptions): UnaryMethod {
  const { maxMessageBytes: maxBytes, sharedMemory, settings } = options;
  return async (message, call) => {
    const request =
      decodeInferRequestQuickly(message, maxBytes) ??
      (await decodeInThread(decodeInferRequestJob, [message, maxBytes], { ...call, message, maxBytes }));
    const answer = await inferKserve(service, request, { call, maxBytes, sharedMemory, settings });
    const { metadata } = answer;
    const { encoding } = request.form;
    if (isLargeResponse(answer, encoding)) {
      return { message: await encodeInThread(frameInferResponseJob, [answer, encoding, true], call), metadata };
    }
    return { message: frameInferResponse(answer, encoding, call.memory.isWireOnly), metadata };
  };
}
