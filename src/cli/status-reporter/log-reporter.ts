import type { Logger } from "../../observability/logger.ts";
import type { StageSummary } from "../../server/stage-summary.ts";
import type { InFlight } from "../../serving/admission.ts";
import type { LooseSpec } from "../../signature/signature.ts";
import type { ModelSummary } from "./model-table.ts";
import type { StatusReporter } from "./status-reporter.ts";

/** Writes one log event for each report. */
export function createLogReporter(log: Logger): StatusReporter {
  return {
    loading: (models) => log.info("loading", { models: models.map(({ driver, path }) => ({ driver, path })) }),
    ready: ({ name, grpcAddress, httpUrl, stages, models }) => {
      const addresses = { grpc: grpcAddress, http: httpUrl };
      if (models !== undefined) log.info("ready", { ...addresses, models: models.map(toModelFields) });
      else log.info("ready", { name, ...addresses, stages: stages.map(toFields) });
    },
    retiring: (delayMs) => log.info("not ready any more; requests are answered for a while", { delayMs }),
    draining: (count) => log.info("draining", { requests: count }),
    stopped: () => log.info("stopped"),
    cutOff: (requests, why) => log.error("requests cut off", { why, requests: requests.map(withRoundAge) }),
  };
}

function toFields({ inputs, outputs, loadMs, ...stage }: StageSummary) {
  return {
    ...stage,
    inputs: inputs?.map(withoutDefault),
    outputs: outputs?.map(withoutDefault),
    loadMs: Math.round(loadMs),
  };
}

function toModelFields({ name, version, state, drivers, problem }: ModelSummary) {
  return { name, version, state, drivers, ...(problem !== "" && { problem }) };
}

function withRoundAge({ id, model, ageMs }: InFlight) {
  return { id, model, ageMs: Math.round(ageMs) };
}

/** A default may be a large tensor. */
function withoutDefault({ name, dtype, shape }: LooseSpec) {
  return { name, dtype, shape };
}
