import { currentScope } from "../../access/call-scope.ts";
import { ServingError } from "../../errors.ts";
import { HttpError } from "../../proxy/http-errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer, HttpDependencies, HttpRoute, InferenceRoute, RouteHandler } from "../../proxy/http-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import type { PlatformModels } from "../../serving/platform-models.ts";
import { type Endpoint, endpointPaths, type Paths } from "../endpoint-paths.ts";
import type { Protocol } from "../protocol.ts";
import { modelStatus } from "../tensorflow-serving/model-status.ts";
import { jsonAnswer } from "../text-answer.ts";
import type { HandlerDependencies } from "./answer-by-handlers.ts";
import { readCustomAttributes } from "./custom-attributes.ts";

const INVOCATIONS = /^\/invocations\/?(?:\?|$)/;

/**
 * The contract of a container that serves models under Amazon SageMaker: `GET /ping` and `POST /invocations`, and
 * `/models` if the platform loads the models.
 */
export const sagemaker: Protocol = {
  name: "sagemaker",
  http: (dependencies) => {
    const { service, platform } = dependencies;
    const ping = pingRoute(service);
    if (platform === undefined) return { inference: [invocations(dependencies)], routes: [ping] };
    return {
      inference: [invocations(dependencies), invokeNamed(platform, dependencies)],
      routes: [ping, ...modelRoutes(platform, dependencies)],
    };
  },
};

function invocations(dependencies: HttpDependencies): InferenceRoute {
  const { platform, hasPlatformElsewhere = platform !== undefined } = dependencies;
  const answer: RouteHandler = async (exchange) => {
    if (hasPlatformElsewhere) requireModelName(exchange);
    const { invoke } = await import("./invoke.ts");
    return invoke(exchange, dependencies);
  };
  return { path: "/invocations", inParts: "possible", find: (url) => (INVOCATIONS.test(url) ? answer : undefined) };
}

/** Throws 400 for a request that does not say which of the platform's models it means. */
function requireModelName({ request }: HttpExchange): void {
  if (readCustomAttributes(request.headers["x-amzn-sagemaker-custom-attributes"]).model === "")
    throw new HttpError(400, "Invocation request does not contain model name.");
}

/** Answers 200 without a body while requests can be answered, else 502. */
function pingRoute(service: InferenceService): HttpRoute {
  const answer: HttpRoute["answer"] = async () => {
    const status = service.isReady() ? 200 : 502;
    return { status, contentType: "application/json", body: Buffer.alloc(0) };
  };
  return { method: "GET", path: "/ping", kind: "health", answer };
}

const INVOKE = /^\/models\/([^/?]+)\/invoke\/?(?:\?|$)/;

/** The route that runs a model of the platform by its name: `POST /models/NAME/invoke`. */
function invokeNamed(platform: PlatformModels, dependencies: HandlerDependencies): InferenceRoute {
  return {
    path: "/models/:name/invoke",
    inParts: "possible",
    find: (url) => {
      const [, encoded] = INVOKE.exec(url) ?? [];
      if (encoded === undefined) return undefined;
      return async (exchange) => {
        const name = decode(encoded);
        assertLoaded(platform, name);
        const { invoke } = await import("./invoke.ts");
        return invoke(exchange, dependencies, name);
      };
    },
  };
}

function decode(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw new HttpError(400, "The model's name in the URL is not percent-encoded text.");
  }
}

/** Throws unless the client may know the model, and the platform has loaded it. */
function assertLoaded(platform: PlatformModels, name: string): void {
  currentScope()?.assertModel(name);
  if (!platform.names().includes(name)) throw new HttpError(404, `Model ${name} is not loaded yet.`);
}

/**
 * The calls by which SageMaker loads, lists and unloads the models of a multi-model endpoint, with the texts and
 * statuses of its container for TensorFlow Serving. The platform is the only client of such a container: none of them
 * needs `--allow-control`.
 */
function modelRoutes(
  platform: PlatformModels,
  { service, grpcPort }: Pick<HandlerDependencies, "service" | "grpcPort">,
): readonly HttpRoute[] {
  const access = "all";
  return [
    {
      ...{ method: "GET", path: "/models", kind: "read" },
      answer: async () => {
        const names = platform.names().filter((name) => currentScope()?.knows(name) ?? true);
        return jsonAnswer(Object.fromEntries(names.map((model) => [model, modelStatus(service, { model })])));
      },
    },
    {
      ...{ method: "GET", path: "/models/:name", kind: "read" },
      answer: async (_, { name: model = "" }) => {
        assertLoaded(platform, model);
        return jsonAnswer({ model: modelStatus(service, { model }) });
      },
    },
    {
      ...{ method: "POST", path: "/models", kind: "control", access },
      answer: (exchange) => load(exchange, platform, grpcPort),
    },
    {
      ...{ method: "DELETE", path: "/models/:name", kind: "control", access },
      answer: async (_, { name = "" }) => {
        currentScope()?.assertControlsAll();
        await platform.unload(name);
        return jsonAnswer({ success: `Successfully unloaded model ${name}.` });
      },
    },
  ];
}

async function load(
  exchange: HttpExchange,
  platform: PlatformModels,
  grpcPort: number | undefined,
): Promise<HttpAnswer> {
  currentScope()?.assertControlsAll();
  const { name, url } = readBody(await exchange.readSmallBody());
  try {
    await platform.load(name, url);
  } catch (reason) {
    throw toHttpError(reason);
  }
  const ports = `rest port ${exchange.request.socket.localPort} and grpc port ${grpcPort ?? "none"}`;
  return jsonAnswer({ success: `Successfully loaded model ${name}, listening on ${ports}.` });
}

/** The container answers any body without these members with 500. */
function readBody(body: Buffer): { readonly name: string; readonly url: string } {
  const { model_name: name, url } = parse(body) ?? {};
  if (typeof name === "string" && name !== "" && typeof url === "string") return { name, url };
  throw new HttpError(500, 'The body does not load a model; send {"model_name": "NAME", "url": "/opt/ml/models/…"}.');
}

function parse(body: Buffer): { readonly model_name?: unknown; readonly url?: unknown } | null {
  try {
    return JSON.parse(body.toString());
  } catch {
    return null;
  }
}

/** SageMaker unloads other models and tries again after a 507. */
function toHttpError(reason: unknown): unknown {
  const { code, message } = ServingError.from(reason);
  if (code === "resource_exhausted") return new HttpError(507, `Memory exhausted: ${message}`, {}, { cause: reason });
  if (code === "deadline_exceeded") return new HttpError(408, message, {}, { cause: reason });
  if (code === "failed_precondition" || code === "invalid_argument")
    return new HttpError(500, message, {}, { cause: reason });
  return reason;
}

const TEXT = { type: "string" };
const DONE = { type: "object", required: ["success"], properties: { success: TEXT } };
const PREDICTIONS = { type: "object", properties: { predictions: { type: "array" }, outputs: {} } };

const EVERYWHERE: readonly Endpoint[] = [
  { method: "GET", path: "/ping", summary: "Tell whether requests can be answered", isEmpty: true },
  {
    ...{ method: "POST", path: "/invocations", summary: "Run the first model, or that of the custom attributes" },
    description:
      "Takes JSON, lines of JSON, CSV, images, files of numpy and raw bytes, by Content-Type, and answers with JSON, CSV or files of numpy, or the parts of an answer as events or lines of JSON, by Accept; the header X-Amzn-SageMaker-Custom-Attributes chooses model, version and method.",
    schemas: { body: {}, answer: PREDICTIONS },
  },
];

const OF_PLATFORM: readonly Endpoint[] = [
  { method: "GET", path: "/models", summary: "List the loaded models", schemas: { answer: { type: "object" } } },
  {
    ...{ method: "POST", path: "/models", summary: "Load a model" },
    schemas: {
      body: { type: "object", required: ["model_name", "url"], properties: { model_name: TEXT, url: TEXT } },
      answer: DONE,
    },
  },
  {
    method: "GET",
    path: "/models/{name}",
    summary: "Describe a loaded model",
    schemas: { answer: { type: "object" } },
  },
  { method: "DELETE", path: "/models/{name}", summary: "Unload a model", schemas: { answer: DONE } },
  {
    ...{ method: "POST", path: "/models/{name}/invoke", summary: "Run a loaded model" },
    schemas: { body: {}, answer: PREDICTIONS },
  },
];

/** Paths of OpenAPI for the contract of SageMaker's containers; `hasPlatform` = a platform loads the models. */
export function sagemakerPaths(hasPlatform: boolean): Paths {
  return endpointPaths("SageMaker", hasPlatform ? [...EVERYWHERE, ...OF_PLATFORM] : EVERYWHERE);
}
