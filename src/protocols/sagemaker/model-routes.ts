import { currentScope } from "../../access/call-scope.ts";
import { ServingError } from "../../errors.ts";
import { HttpError } from "../../proxy/http-errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer, HttpRoute } from "../../proxy/http-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import type { PlatformModels } from "../../serving/platform-models.ts";
import { jsonAnswer } from "../json-answer.ts";
import { modelStatus } from "../tensorflow-serving/model-status.ts";

/** Models of a platform, and what a load tells of the server. */
export interface ModelRouteDependencies {
  readonly service: InferenceService;
  readonly platform: PlatformModels;
  readonly grpcPort?: number | undefined;
}

/**
 * The calls by which SageMaker loads, lists and unloads the models of a multi-model endpoint, with the texts and
 * statuses of its container for TensorFlow Serving. The platform is the only client of such a container: none of them
 * needs `--allow-control`.
 */
export function modelRoutes(dependencies: ModelRouteDependencies): readonly HttpRoute[] {
  const { service, platform } = dependencies;
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
        currentScope()?.assertModel(model);
        if (!platform.names().includes(model)) throw new HttpError(404, `Model ${model} is not loaded yet.`);
        return jsonAnswer({ model: modelStatus(service, { model }) });
      },
    },
    {
      ...{ method: "POST", path: "/models", kind: "control", access },
      answer: (exchange) => load(exchange, dependencies),
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

async function load(exchange: HttpExchange, { platform, grpcPort }: ModelRouteDependencies): Promise<HttpAnswer> {
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
