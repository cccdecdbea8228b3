import type { Logger } from "../../observability/logger.ts";
import type { StageSummary } from "../../server/server.ts";
import type { InFlight } from "../../serving/admission.ts";
import type { LooseSpec } from "../../signature/signature.ts";
import type { Announcer } from "./announcer.ts";

/** Tells a log: `loading`, `ready`, `draining`, `stopped`, one event each. */
export function createLogAnnouncer(log: Logger): Announcer {
  return {
    loading: (models) => log.info("loading", { models: models.map(({ driver, path }) => ({ driver, path })) }),
    ready: ({ name, grpcAddress, httpUrl, stages }) =>
      log.info("ready", { name, grpc: grpcAddress, http: httpUrl, stages: stages.map(toFields) }),
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

function withRoundAge({ id, model, ageMs }: InFlight) {
  return { id, model, ageMs: Math.round(ageMs) };
}

/** A default may be a large tensor. */
function withoutDefault({ name, dtype, shape }: LooseSpec) {
  return { name, dtype, shape };
}
