import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { createHookRouter } from "./hook-router.ts";
import { sendError } from "./http-errors.ts";
import type { HttpDependencies, NamedHttpProtocol } from "./http-route.ts";
import { createInferenceRouter } from "./inference-router.ts";
import { requestRefusal } from "./request-refusal.ts";
import { toOriginForm } from "./to-origin-form.ts";

/** Answers every request: routes of hooks where these are wanted, and inference, by the whole URL, all others by an Express application. */
export function createRequestListener(
  protocols: readonly NamedHttpProtocol[],
  dependencies: HttpDependencies,
  hookRoutes = true,
): RequestListener {
  const ofHooks = hookRoutes ? createHookRouter(protocols, dependencies) : () => false;
  const route = createInferenceRouter(protocols, dependencies);
  const app = lazyApp(protocols, dependencies);
  return (request: IncomingMessage, response: ServerResponse) => {
    const refusal = requestRefusal(request);
    toOriginForm(request);
    if (refusal !== undefined) sendError(refusal, { request, response, log: dependencies.log });
    else if (!ofHooks(request, response) && !route(request, response)) app(request, response);
  };
}

/** Loads Express with the first request that is not inference: loading it takes longer than all the rest of this transport. */
function lazyApp(protocols: readonly NamedHttpProtocol[], dependencies: HttpDependencies): RequestListener {
  let app: Promise<RequestListener> | undefined;
  return async (request, response) => {
    app ??= import("./app.ts").then(({ createApp }) => createApp(protocols, dependencies));
    (await app)(request, response);
  };
}
