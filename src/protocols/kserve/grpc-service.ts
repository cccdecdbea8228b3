import type { Server, ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";
import { byteMethod } from "../../grpc/byte-method.ts";
import { frameParts } from "../../grpc/framed-message.ts";
import { type HandlerContext, toUnaryHandler, type UnaryMethod } from "../../grpc/unary-handler.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { ADMIN_CALL_NAMES, adminKind, adminMethod } from "./grpc-admin.ts";
import { decodeInferRequest, INFER_NESTING, inferResponseParts } from "./grpc-codec.ts";
import { toInferStreamHandler } from "./grpc-stream.ts";
import { inferKserve } from "./infer-kserve.ts";

/** The service of KServe V2 (the Open Inference Protocol), as Triton and OpenVINO Model Server serve it too. */
const KSERVE_SERVICE = "inference.GRPCInferenceService";

/** Adds inference.GRPCInferenceService to a server. */
export function addKserveService(server: Server, service: InferenceService, options: HandlerContext): void {
  const context = { ...options, service };
  const pathOf = (name: string) => `/${KSERVE_SERVICE}/${name}`;
  const admin = ADMIN_CALL_NAMES.map((name) => [name, byteMethod(pathOf(name))] as const);
  const definition: ServiceDefinition = {
    ModelInfer: byteMethod(pathOf("ModelInfer")),
    ModelStreamInfer: byteMethod(pathOf("ModelStreamInfer"), "bidiStream"),
    ...Object.fromEntries(admin),
  };
  const implementation: UntypedServiceImplementation = {
    ModelInfer: toUnaryHandler(
      pathOf("ModelInfer"),
      { kind: "inference", method: inferMethod(service, options), nesting: INFER_NESTING },
      options,
    ),
    ModelStreamInfer: toInferStreamHandler(service, options),
  };
  for (const [name] of admin) {
    const route = { kind: adminKind(name), method: adminMethod(name, context) };
    implementation[name] = toUnaryHandler(pathOf(name), route, options);
  }
  server.addService(definition, implementation);
}

function inferMethod(service: InferenceService, { maxMessageBytes }: HandlerContext): UnaryMethod {
  return async (message, call) => {
    const request = decodeInferRequest(message, maxMessageBytes);
    const answer = await inferKserve(service, request, call);
    const parts = inferResponseParts(answer, request.encoding);
    return { message: frameParts(parts, call.memory?.isWireOnly === true), metadata: answer.metadata };
  };
}
