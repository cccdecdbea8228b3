/** Runs the parts of npm run check -- sidecars; its argument has the programs' files as JSON. */
import type { Sidecars } from "../build-sidecars.ts";
import { checkBatcher } from "./check-batcher.ts";
import { checkGraphs } from "./check-graphs.ts";
import { checkKnativeServices } from "./check-knative-services.ts";
import { checkLogger } from "./check-logger.ts";
import { checkQueueProxy } from "./check-queue-proxy.ts";

const PARTS: Readonly<Record<string, (programs: Sidecars) => Promise<string>>> = {
  "KServe's logger": checkLogger,
  "KServe's batcher": checkBatcher,
  "KServe's router": checkGraphs,
  "Knative's queue-proxy": checkQueueProxy,
  "Knative's check of the runtimes": checkKnativeServices,
};
const programs: Sidecars = JSON.parse(process.argv[2] as string);

for (const [name, check] of Object.entries(PARTS)) console.log(`${name}: ${await check(programs)}`);
// Clients of gRPC keep their connections.
process.exit();
