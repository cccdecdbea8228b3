import type { HttpAnswer, HttpRoute, PathParameters } from "../../proxy/http-route.ts";
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
