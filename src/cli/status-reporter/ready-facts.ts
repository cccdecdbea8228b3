import type { ControlAccess } from "../../access/control-access.ts";
import { isLoopback } from "../../access/network-address.ts";
import { meantInError } from "../../drivers/file-kind.ts";
import type { Server } from "../../server/server.ts";
import type { InferenceService, ServableState } from "../../serving/inference-service.ts";
import type { ModelSources } from "../../serving/repository/config-sources.ts";
import { defaultSignatureName, knownInputs } from "../../tensor/signature/signature.ts";
import { toReachableAddress } from "../addresses/address-text.ts";
import type { Settings } from "../settings/settings.ts";
import type { ModelSummary } from "./model-table.ts";
import type { ReadyFacts } from "./status-reporter.ts";

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
  const served = await (sources === undefined ? onePipeline(server, settings.name) : namedModels(server));
  if (httpUrl === undefined) return { grpcAddress, ...served };
  const reachable = toReachableAddress(httpUrl);
  // A program in place of our HTTP server has no page.
  const hasPage = settings.ui && server.httpUrl !== undefined;
  return { grpcAddress, httpUrl: reachable, ...(hasPage && { pageUrl: `${reachable}/ui` }), ...served };
}

type ServedFacts = Pick<ReadyFacts, "name" | "stages" | "models" | "decoupled">;

async function onePipeline(server: Server, name: string): Promise<ServedFacts> {
  const [model] = await summarizeModels(server);
  return { name, stages: server.stages, ...(model?.decoupled && { decoupled: true }) };
}

/** The models, and the name of the first that answers. */
async function namedModels(server: Server): Promise<ServedFacts> {
  const models = await summarizeModels(server);
  const first = models.find(({ problem }) => problem === "");
  return { stages: [], models, ...(first && { name: first.name, ...(first.decoupled && { decoupled: true }) }) };
}

/** Every version of every model of a server, as it is now, with paths, which are not reported to clients. */
async function summarizeModels(server: Pick<Server, "service" | "models">): Promise<readonly ModelSummary[]> {
  const { service } = server;
  const errors = new Map(
    server
      .models()
      .map(({ name, version, error }) => [`${name}/${version}`, error && `${error.message}${meantInError(error)}`]),
  );
  return Promise.all(
    service.index().map((status) => {
      const problem = status.isReady
        ? ""
        : (errors.get(`${status.model}/${status.version}`) ?? status.unavailableReason);
      return summarize(service, status, problem);
    }),
  );
}

async function summarize(service: InferenceService, status: ServableState, problem: string): Promise<ModelSummary> {
  const { model: name, version, state } = status;
  const known = { name, version: String(version), state, problem };
  const nothing = { ...known, drivers: [], inputs: undefined, outputs: undefined };
  if (state !== "AVAILABLE") return nothing;
  try {
    const lease = await service.acquire({ model: name, version });
    lease.release();
    const { drivers, signatures, decoupled } = lease.description;
    const signature = signatures[defaultSignatureName(signatures)] ?? {};
    return { ...known, drivers, inputs: knownInputs(signature), outputs: signature.outputs, decoupled };
  } catch {
    // It has gone meanwhile.
    return nothing;
  }
}

/** One line on the permissions of clients on other machines; undefined if only this machine reaches the server. */
export function openAccessNotice(host: string, allowControl: ControlAccess): string | undefined {
  if (host === "localhost" || isLoopback(host)) return undefined;
  const control = allowControl === "all" ? ", load and unload models, and change what is logged" : "";
  return `Every client that reaches this server may run models${control}: it asks for no password. --host 127.0.0.1 serves this machine alone.`;
}
