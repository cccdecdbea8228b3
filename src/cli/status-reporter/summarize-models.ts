import type { Server } from "../../server/server.ts";
import type { InferenceService, ServableState } from "../../serving/inference-service.ts";
import { defaultSignatureName, knownInputs } from "../../signature/signature.ts";
import type { ModelSummary } from "./model-table.ts";

/** Every version of every model of a server, as it is now, with paths, which are not reported to clients. */
export async function summarizeModels(server: Pick<Server, "service" | "models">): Promise<readonly ModelSummary[]> {
  const { service } = server;
  const errors = new Map(server.models().map(({ name, version, error }) => [`${name}/${version}`, error?.message]));
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
    const { drivers, signatures } = lease.description;
    const signature = signatures[defaultSignatureName(signatures)] ?? {};
    return { ...known, drivers, inputs: knownInputs(signature), outputs: signature.outputs };
  } catch {
    // It has gone meanwhile.
    return nothing;
  }
}
