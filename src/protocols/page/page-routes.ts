import { ServingError } from "../../errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer, HttpRoute, PathParameters } from "../../proxy/http-route.ts";
import type { PageSources } from "../../proxy/page-sources.ts";
import type { InferenceService } from "../../serving/inference-service.ts";

const DONE: HttpAnswer = { contentType: "application/json", body: Buffer.from('{"done":true}') };

/** The page's calls that change the server, for callers that may. */
export function controlRoutes(service: InferenceService): readonly HttpRoute[] {
  return [
    controlRoute("/ui/models/:name/load", ({ name = "" }) => service.load(name)),
    controlRoute("/ui/models/:name/unload", ({ name = "" }) => service.unload(name)),
    controlRoute("/ui/rescan", () => service.rescan()),
  ];
}

function controlRoute(path: string, change: (parameters: PathParameters) => Promise<void>): HttpRoute {
  const answer: HttpRoute["answer"] = async (_, parameters) => {
    await change(parameters);
    return DONE;
  };
  return { method: "POST", path, kind: "control", isForOwnPage: true, answer };
}

const REFUSAL =
  "Requests and the log are shown at the server's own machine, and to callers with a name who may read about all models.";

/** The page's views of a running server; `mayWatch` tells who may see them. */
export function liveRoutes(
  { history, recent, log }: PageSources,
  mayWatch: (request: HttpExchange["request"]) => boolean,
): readonly HttpRoute[] {
  const watch = (path: string, read: (after: number) => object): HttpRoute =>
    readRoute(path, ({ request }) => {
      if (!mayWatch(request)) throw new ServingError("permission_denied", REFUSAL);
      return read(readAfter(request.url));
    });
  return [
    watch("/ui/history", (after) => ({ samples: history.after(after) })),
    watch("/ui/requests", () => ({ requests: recent.look() })),
    watch("/ui/log", (after) => ({ lines: log.after(after) })),
  ];
}

/** A route that only the page reads, as JSON that is not kept. */
export function readRoute(
  path: string,
  read: (exchange: HttpExchange, parameters: PathParameters) => object | Promise<object>,
): HttpRoute {
  const answer: HttpRoute["answer"] = async (exchange, parameters) => {
    const body = Buffer.from(JSON.stringify(await read(exchange, parameters)));
    return { contentType: "application/json", body, headers: { "cache-control": "no-store" } };
  };
  return { method: "GET", path, kind: "read", isForOwnPage: true, answer };
}

/** `?after=N`: the newest that the page has. */
function readAfter(url = ""): number {
  const after = Number(new URL(url, "http://server").searchParams.get("after") ?? 0);
  return Number.isFinite(after) ? after : 0;
}

/** Versions whose examples are kept. */
const MAX_EXAMPLES = 256;

/** Tells the page inputs with which a version runs; they are tried once for each load of it. */
export function exampleRoute(service: InferenceService): HttpRoute {
  const known = new Map<string, Promise<object>>();
  return readRoute("/ui/models/:name/versions/:version/example", (_, { name = "", version = "" }) => {
    const state = service.index().find((one) => one.model === name && String(one.version) === version);
    if (state?.state !== "AVAILABLE") {
      throw new ServingError("not_found", `Version ${version} of ${name} is not available.`);
    }
    const key = `${name}/${version}/${state.generation}`;
    const found = known.get(key) ?? findExample(service, state);
    if (known.size >= MAX_EXAMPLES) known.clear();
    known.set(key, found);
    return found;
  });
}

/** As `{"inputs": [{"name", "shape", "element"}]}`. */
async function findExample(
  service: InferenceService,
  { model, version }: { readonly model: string; readonly version: bigint },
): Promise<object> {
  const lease = await service.acquire({ model, version });
  try {
    const { inputs = [] } = (await lease.exampleInputs?.()) ?? {};
    return {
      inputs: inputs.map(({ name, shape, element }) => ({
        ...{ name, shape },
        element: typeof element === "number" ? element : Buffer.from(element).toString(),
      })),
    };
  } finally {
    lease.release();
  }
}
