import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { buildModule, buildTool, requireModule } from "./build-module.ts";
import { KNATIVE, KNATIVE_MODULE, KSERVE, KSERVE_MODULE } from "./versions.ts";

/** Programs that KServe and Knative run next to a server, by their files. */
export interface Sidecars {
  /** KServe's agent: logger and batcher. */
  readonly agent: string;
  /** KServe's router of an InferenceGraph. */
  readonly router: string;
  /** Knative's queue-proxy. */
  readonly queue: string;
  /** Program of ours that checks a Service of Knative as Knative's webhook does. */
  readonly knative: string;
}

/** Builds the programs from their Go modules within `cache`, unless they are there: some minutes. Needs Go. */
export function buildSidecars(cache: string): Sidecars {
  mkdirSync(cache, { recursive: true });
  return {
    agent: buildTool(join(cache, `agent-${KSERVE}`), KSERVE_MODULE, "cmd/agent"),
    router: buildTool(join(cache, `router-${KSERVE}`), KSERVE_MODULE, "cmd/router"),
    queue: buildTool(join(cache, `queue-${KNATIVE}`), KNATIVE_MODULE, "cmd/queue"),
    knative: buildChecker(join(cache, `knative-service-${KNATIVE}`)),
  };
}

function buildChecker(program: string): string {
  return buildModule(program, (folder) => ({
    lines: requireModule(KNATIVE_MODULE, folder),
    packageName: ".",
    writeSource: (to) => copyFileSync(join(import.meta.dirname, "knative-service.go"), join(to, "main.go")),
  }));
}
