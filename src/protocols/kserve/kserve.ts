import type { IncomingMessage } from "node:http";
import { invalidArgument } from "../../errors.ts";
import type { GrpcProtocolOptions, GrpcRoutes, UnaryMethod } from "../../grpc/grpc-route.ts";
import { decodeInThread, encodeInThread } from "../../platform/codec-host/codec-jobs.ts";
import { SMALL_REQUEST_BYTES } from "../../platform/limits/transport-limits.ts";
import { HttpError } from "../../proxy/http-errors.ts";
import type {
  HttpDependencies,
  HttpRoute,
  InferenceRoute,
  PathParameters,
  RouteHandler,
} from "../../proxy/http-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import type { Protocol } from "../protocol.ts";
import { ADMIN_CALL_NAMES, adminKind, adminMethod, LOAD_CALL } from "./grpc-admin.ts";
import { decodeInferRequestJob, decodeInferRequestQuickly, INFER_NESTING } from "./grpc-request.ts";
import { frameInferResponse, frameInferResponseJob, isLargeResponse } from "./grpc-response.ts";
import { inferStreamMethod } from "./grpc-stream.ts";
import type { KserveEndpoint } from "./http-endpoint.ts";
import { KSERVE_ENDPOINTS } from "./http-endpoints.ts";
import { inferKserve } from "./infer-kserve.ts";
import { DOCUMENT, docsOf } from "./openapi.ts";

/** KServe V2, the Open Inference Protocol; over HTTP, all else under `/v2` is refused as Triton does. */
export const kserve: Protocol = {
  name: "kserve",
  grpc: (service, options) => ({ routes: grpcRoutes(service, options) }),
  http: (dependencies) => ({
    inference: KSERVE_ENDPOINTS.flatMap((endpoint) => toInferenceRoute(endpoint, dependencies) ?? []),
    routes: KSERVE_ENDPOINTS.flatMap((endpoint) => toRoute(endpoint, dependencies) ?? []),
    prefix: PREFIX,
    refuse,
    docsOf: docsOf(dependencies.settings),
  }),
};

/** As Triton and OpenVINO Model Server serve it too. */
const GRPC_SERVICE = "inference.GRPCInferenceService";

function grpcRoutes(service: InferenceService, options: GrpcProtocolOptions): GrpcRoutes {
  const context = { ...options, service };
  const pathOf = (name: string) => `/${GRPC_SERVICE}/${name}`;
  const admin = ADMIN_CALL_NAMES.map((name) => {
    const route = {
      kind: adminKind(name),
      method: adminMethod(name, context),
      ...(name !== LOAD_CALL && { maxBytes: SMALL_REQUEST_BYTES }),
    };
    return [pathOf(name), route] as const;
  });
  return {
    [pathOf("ModelInfer")]: { kind: "inference", method: inferMethod(service, options), nesting: INFER_NESTING },
    [pathOf("ModelStreamInfer")]: { kind: "inference", stream: inferStreamMethod(service, options) },
    ...Object.fromEntries(admin),
  };
}

/** Triton's text. */
const DECOUPLED = "ModelInfer RPC doesn't support models with decoupled transaction policy";

function inferMethod(service: InferenceService, options: GrpcProtocolOptions): UnaryMethod {
  const { maxMessageBytes: maxBytes, sharedMemory, settings } = options;
  return async (message, call) => {
    const request =
      decodeInferRequestQuickly(message, maxBytes) ??
      (await decodeInThread(decodeInferRequestJob, [message, maxBytes], { ...call, message, maxBytes }));
    const options = { call, maxBytes, sharedMemory, settings, refusal: DECOUPLED };
    const answer = await inferKserve(service, request, options);
    const { metadata } = answer;
    const { encoding } = request.form;
    if (isLargeResponse(answer, encoding)) {
      return { message: await encodeInThread(frameInferResponseJob, [answer, encoding, true], call), metadata };
    }
    return { message: frameInferResponse(answer, encoding, call.memory.isWireOnly), metadata };
  };
}

const PREFIX = /^\/v2(?:\/|$)/;
/** A registration without the name of a region, as a group: its kind. */
const NAMELESS = /^\/v2\/(system|cuda)sharedmemory\/register\/?$/;
/** A version that is not a number, as a group. */
const BAD_VERSION = /^\/v2\/models\/[^/]+\/versions\/(?![0-9]+(?:\/|$))([^/]+)/;

function toInferenceRoute(endpoint: KserveEndpoint, dependencies: HttpDependencies): InferenceRoute | undefined {
  if (!runsModel(endpoint)) return undefined;
  const pattern = toPattern(endpoint.path);
  const find = (url: string) => {
    const { groups } = pattern.exec(url) ?? {};
    return groups && toHandler(endpoint, { name: decode(groups.name), version: groups.version }, dependencies);
  };
  const { inParts } = endpoint;
  return { path: toExpressPath(endpoint.path), find, ...(inParts && { inParts }) };
}

function toRoute(endpoint: KserveEndpoint, dependencies: HttpDependencies): HttpRoute | undefined {
  const { kind, method, path } = endpoint;
  if (runsModel(endpoint)) return undefined;
  const answer: HttpRoute["answer"] = (exchange, { ...parameters }) => {
    const { version = "" } = parameters;
    if (/[^0-9]/.test(version)) throw noVersion(version);
    return toHandler(endpoint, parameters, dependencies)(exchange);
  };
  const route = { kind, method, path: toExpressPath(path), answer };
  // Triton's client keeps the header of an inference for its later calls, and inflates the answers to inference alone.
  return path.endsWith(DOCUMENT) ? route : { ...route, neverCompressed: true };
}

/** Checks for the endpoints that are not served by Express, since they are called most. */
function runsModel({ path }: KserveEndpoint): boolean {
  return /\/(?:infer|generate)(?:_stream)?$/.test(path);
}

function toHandler(
  { answer }: KserveEndpoint,
  parameters: PathParameters,
  { service, sharedMemory, settings, tracer, log }: HttpDependencies,
): RouteHandler {
  const { name: model = "", version = "", region = "" } = parameters;
  return (exchange) => answer({ service, sharedMemory, settings, tracer, log, model, version, region, exchange });
}

/** `{name}` in Express' form. */
function toExpressPath(path: string): string {
  return path.replaceAll(/\{([a-z]+)\}/g, ":$1");
}

/** `{name}` and `{version}` as groups, for a whole URL. */
function toPattern(path: string): RegExp {
  const pattern = path.replace("{version}", "(?<version>[0-9]+)").replace("{name}", "(?<name>[^/]+)");
  return new RegExp(`^${pattern}/?(?:\\?|$)`);
}

function refuse({ url = "" }: IncomingMessage, methods: readonly string[]): Error {
  const [path = ""] = url.split("?", 1);
  const kind = NAMELESS.exec(path)?.[1];
  if (kind !== undefined) return invalidArgument(`'region name' is necessary to register ${kind} shared memory region`);
  const version = BAD_VERSION.exec(path)?.[1];
  if (version !== undefined) return noVersion(version);
  if (methods.length > 0) return new HttpError(405, "Method Not Allowed", { allow: methods.join(", ") });
  return new HttpError(404, "Not Found");
}

function noVersion(version: string): HttpError {
  return new HttpError(404, `Not Found: "${version}" is not a version; expected a number, such as 1.`);
}

/** Clients percent-encode names; a name without encoding stays unchanged. */
function decode(name = ""): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
