import type { ModelSources } from "../../repository/config-sources.ts";
import type { Server } from "../../server/server.ts";
import { toReachableAddress } from "../addresses/reachable-address.ts";
import type { Settings } from "../settings/settings.ts";
import type { ReadyFacts } from "./status-reporter.ts";
import { summarizeModels } from "./summarize-models.ts";

/** A started server, and what it was started from. */
interface Started {
  readonly server: Server;
  /** The server's own, or that of the program in its place. */
  readonly httpUrl: string | undefined;
  /** The named models; undefined = there is one pipeline. */
  readonly sources: ModelSources | undefined;
  readonly settings: Settings<"serve">;
}

/** Facts about a started server, for its reporter. */
export async function readyFacts({ server, httpUrl, sources, settings }: Started): Promise<ReadyFacts> {
  const grpcAddress = toReachableAddress(server.grpcAddress);
  const served = sources === undefined ? { name: settings.name, stages: server.stages } : await namedModels(server);
  if (httpUrl === undefined) return { grpcAddress, ...served };
  const reachable = toReachableAddress(httpUrl);
  // A program in place of our HTTP server has no page.
  const hasPage = settings.ui && server.httpUrl !== undefined;
  return { grpcAddress, httpUrl: reachable, ...(hasPage && { pageUrl: `${reachable}/ui` }), ...served };
}

/** The models, and the name of the first that answers. */
async function namedModels(server: Server): Promise<Pick<ReadyFacts, "name" | "stages" | "models">> {
  const models = await summarizeModels(server);
  const first = models.find(({ problem }) => problem === "");
  return { stages: [], models, ...(first && { name: first.name }) };
}
