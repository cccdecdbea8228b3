import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { buildKserveImages, type KserveImagePrograms } from "./build-kserve.ts";
import { buildModule, buildTool, requireModule } from "./build-module.ts";
import { KNATIVE, KNATIVE_MODULE } from "./versions.ts";

/** Programs that KServe and Knative run next to a server, by their files. */
export interface Sidecars extends KserveImagePrograms {
  /** Knative's queue-proxy. */
  readonly queue: string;
  /** Program of ours that checks a Service of Knative as Knative's webhook does. */
  readonly knative: string;
}

/** Builds the programs from their Go modules within `cache`, unless they are there: some minutes. Needs Go. */
export function buildSidecars(cache: string): Sidecars {
  return {
    ...buildKserveImages(cache),
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
