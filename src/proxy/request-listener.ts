import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { ServingError } from "../errors.ts";
import { createHookRouter } from "./hook-router.ts";
import { sendError } from "./http-errors.ts";
import type { HttpDependencies, NamedHttpProtocol } from "./http-route.ts";
import { createInferenceRouter, type InferenceRouter } from "./inference-router.ts";
import { type Connect, passOn } from "./pass-on.ts";
import { requestRefusal } from "./request-refusal.ts";
import { toOriginForm } from "./to-origin-form.ts";

/**
 * Answers every request: routes of hooks where these are wanted, and inference, by the
 * whole URL, all others by an Express application.
 */
export function createRequestListener(
  protocols: readonly NamedHttpProtocol[],
  dependencies: HttpDependencies,
  { hookRoutes = true, connect }: RestRoutes = {},
): RequestListener {
  const pass = connect && passOn(connect, dependencies.log);
  const ofHooks = pass ? passHookRoutes(dependencies, pass) : hookRouter(hookRoutes, protocols, dependencies);
  const route = createInferenceRouter(protocols, dependencies);
  const app = pass ?? lazyApp(protocols, dependencies);
  return (request: IncomingMessage, response: ServerResponse) => {
    toOriginForm(request);
    const refusal = requestRefusal(request);
    if (refusal !== undefined) sendError(refusal, { request, response, log: dependencies.log });
    else if (!ofHooks(request, response) && !route(request, response)) app(request, response);
  };
}

/** Answering of requests that run no models. */
interface RestRoutes {
  /** Answers the routes that hooks declare. Default true. */
  readonly hookRoutes?: boolean;
  /** Opens a connection to the thread that answers them; absent = this one does. */
  readonly connect?: Connect | undefined;
}

function hookRouter(
  isWanted: boolean,
  protocols: readonly NamedHttpProtocol[],
  dependencies: HttpDependencies,
): InferenceRouter {
  return isWanted ? createHookRouter(protocols, dependencies) : () => false;
}

function passHookRoutes({ service }: HttpDependencies, pass: RequestListener): InferenceRouter {
  return (request, response) => {
    const routes = service.hookRoutes?.();
    const { url = "" } = request;
    if (routes === undefined || routes.size === 0 || !routes.has(url.split("?", 1)[0] as string)) return false;
    pass(request as never, response as never);
    return true;
  };
}

/**
 * Loads Express with the first request that is not inference: loading it takes longer
 * than all the rest of this transport.
 */
function lazyApp(protocols: readonly NamedHttpProtocol[], dependencies: HttpDependencies): RequestListener {
  let app: Promise<RequestListener> | undefined;
  return async (request, response) => {
    app ??= import("./app.ts").then(({ createApp }) => createApp(protocols, dependencies));
    try {
      (await app)(request, response);
    } catch (cause) {
      // The next request tries again: files may be missing for a while, or descriptors.
      app = undefined;
      const { log } = dependencies;
      sendError(new ServingError("unavailable", "The server cannot load Express.", { cause }), {
        request,
        response,
        log,
      });
    }
  };
}
