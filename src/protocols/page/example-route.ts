import { ServingError } from "../../errors.ts";
import type { HttpAnswer, HttpRoute } from "../../proxy/http-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";

/** Versions whose examples are kept. */
const MAX_EXAMPLES = 256;

/** Tells the page inputs with which a version runs; they are tried once for each load of it. */
export function exampleRoute(service: InferenceService): HttpRoute {
  const known = new Map<string, Promise<Buffer>>();
  const answer: HttpRoute["answer"] = async (_, { name = "", version = "" }): Promise<HttpAnswer> => {
    const state = service.index().find((one) => one.model === name && String(one.version) === version);
    if (state?.state !== "AVAILABLE") {
      throw new ServingError("not_found", `Version ${version} of ${name} is not available.`);
    }
    const key = `${name}/${version}/${state.generation}`;
    const found = known.get(key) ?? findExample(service, state);
    if (known.size >= MAX_EXAMPLES) known.clear();
    known.set(key, found);
    return { contentType: "application/json", body: await found, headers: { "cache-control": "no-store" } };
  };
  return {
    method: "GET",
    path: "/ui/models/:name/versions/:version/example",
    kind: "read",
    isForOwnPage: true,
    answer,
  };
}

/** As `{"inputs": [{"name", "shape", "element"}]}`. */
async function findExample(
  service: InferenceService,
  ref: { readonly model: string; readonly version: bigint },
): Promise<Buffer> {
  const { model, version } = ref;
  const lease = await service.acquire({ model, version });
  try {
    const { inputs = [] } = (await lease.exampleInputs?.()) ?? {};
    const plain = inputs.map(({ name, shape, element }) => ({
      ...{ name, shape },
      element: typeof element === "number" ? element : Buffer.from(element).toString(),
    }));
    return Buffer.from(JSON.stringify({ inputs: plain }));
  } finally {
    lease.release();
  }
}
