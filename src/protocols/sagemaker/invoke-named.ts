import { currentScope } from "../../access/call-scope.ts";
import { HttpError } from "../../proxy/http-errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer, InferenceRoute } from "../../proxy/http-route.ts";
import type { PlatformModels } from "../../serving/platform-models.ts";
import type { HandlerDependencies } from "./answer-by-handlers.ts";
import { readCustomAttributes } from "./custom-attributes.ts";

const INVOKE = /^\/models\/([^/?]+)\/invoke\/?(?:\?|$)/;

/** The route that runs a model of the platform by its name: `POST /models/NAME/invoke`. */
export function invokeNamed(platform: PlatformModels, dependencies: HandlerDependencies): InferenceRoute {
  return {
    path: "/models/:name/invoke",
    find: (url) => {
      const [, encoded] = INVOKE.exec(url) ?? [];
      if (encoded === undefined) return undefined;
      return async (exchange) => {
        const name = decode(encoded);
        currentScope()?.assertModel(name);
        if (!platform.names().includes(name)) throw new HttpError(404, `Model ${name} is not loaded yet.`);
        const { invoke } = await import("./invoke.ts");
        return invoke(exchange, dependencies, name);
      };
    },
  };
}

/** Answers `POST /invocations` where many models are loaded: throws 400 for a request that does not say which one. */
export async function invokeChosen(exchange: HttpExchange, dependencies: HandlerDependencies): Promise<HttpAnswer> {
  const { "x-amzn-sagemaker-custom-attributes": header } = exchange.request.headers;
  if (readCustomAttributes(header && String(header)).model === "")
    throw new HttpError(400, "Invocation request does not contain model name.");
  const { invoke } = await import("./invoke.ts");
  return invoke(exchange, dependencies);
}

function decode(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw new HttpError(400, "The model's name in the URL is not percent-encoded text.");
  }
}
