import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { buildTool } from "./build-module.ts";
import { goModule } from "./go-module.ts";
import { KSERVE, KSERVE_MODULE } from "./versions.ts";

/** Programs of KServe, by their files. */
export interface KservePrograms {
  readonly controller: string;
  /** Folder of the Go module, with its definitions. */
  readonly source: string;
  readonly images: KserveImagePrograms;
}

/** Programs that have images of their own. */
export interface KserveImagePrograms {
  /** Logger and batcher, before a server. */
  readonly agent: string;
  /** The router of an InferenceGraph. */
  readonly router: string;
}

/** Builds all programs within `cache`, unless they are there: a quarter of an hour. Needs Go. */
export function buildKserve(cache: string): KservePrograms {
  return {
    controller: buildTool(join(cache, `kserve-${KSERVE}`), KSERVE_MODULE, "cmd/manager"),
    source: goModule(`${KSERVE_MODULE.path}@v${KSERVE}`, cache).Dir,
    images: buildKserveImages(cache),
  };
}

/** Builds the programs that have images within `cache`, unless they are there. Needs Go. */
export function buildKserveImages(cache: string): KserveImagePrograms {
  mkdirSync(cache, { recursive: true });
  return {
    agent: buildTool(join(cache, `agent-${KSERVE}`), KSERVE_MODULE, "cmd/agent"),
    router: buildTool(join(cache, `router-${KSERVE}`), KSERVE_MODULE, "cmd/router"),
  };
}
