import type { InferenceService, ServableState } from "../../serving/inference-service.ts";
import { defaultSignatureName } from "../../signature/signature.ts";
import type { ModelSummary } from "./model-table.ts";

/** Every version of every model of a service, as it is now. */
export async function summarizeModels(service: InferenceService): Promise<readonly ModelSummary[]> {
  return Promise.all(service.index().map((state) => summarize(service, state)));
}

async function summarize(service: InferenceService, status: ServableState): Promise<ModelSummary> {
  const { model: name, version, state, unavailableReason: problem } = status;
  const known = { name, version: String(version), state, problem };
  const nothing = { ...known, drivers: [], inputs: undefined, outputs: undefined };
  if (state !== "AVAILABLE") return nothing;
  try {
    const lease = await service.acquire({ model: name, version });
    lease.release();
    const { drivers, signatures } = lease.description;
    const { inputs, suggestedInputs, outputs } = signatures[defaultSignatureName(signatures)] ?? {};
    return { ...known, drivers, inputs: inputs ?? suggestedInputs, outputs };
  } catch {
    // It has gone meanwhile.
    return nothing;
  }
}
