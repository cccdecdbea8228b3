import { findDriver } from "../../drivers/registry.ts";
import { type ModelFlag, pairModels } from "../../repository/command-line.ts";
import type { ServerOptions } from "../../server/server.ts";
import type { ListedFlag } from "../settings/flag-parser.ts";
import { parseOptionFlags } from "../settings/parse-option-flags.ts";
import type { ParsedCommandLine } from "../settings/parse-settings.ts";
import type { Settings } from "../settings/settings.ts";

/** What `createServer` is to be told. Throws for a driver that does not exist, and `invalid_argument` where drivers, paths and stages do not fit each other. */
export async function toServerOptions({ settings, listed }: ParsedCommandLine<"serve">): Promise<ServerOptions> {
  // First, since a misspelt null would look like a driver that lacks its path.
  await Promise.all(settings.driver.filter(isBareName).map(findDriver));
  const models = pairModels(listed.filter(isModelFlag));
  const { shared, stages } = parseOptionFlags(settings.option, models.length);
  const hasOwnHttp = settings.httpEnable && settings.httpServerCommand === undefined;
  return {
    models: models.map((model, index) => ({ ...model, options: stages[index] ?? {} })),
    options: shared,
    name: settings.name,
    host: settings.host,
    port: settings.port,
    maxMessageBytes: settings.maxMessageBytes,
    tensorContent: settings.tensorContent,
    allowControl: settings.allowControl,
    accessLog: settings.accessLog,
    corsOrigins: settings.corsOrigin,
    drainTimeoutMs: settings.drainTimeout * 1000,
    ...hosting(settings),
    ...(settings.hooks !== undefined && { hooks: settings.hooks }),
    ...(hasOwnHttp && { http: { port: settings.httpPort } }),
  };
}

/** How hooks, models and their queues are run. */
function hosting(settings: Settings<"serve">): Partial<ServerOptions> {
  return {
    workers: settings.workers,
    instances: settings.instances,
    ...(settings.threads !== undefined && { threads: settings.threads }),
    hookTimeoutMs: settings.hookTimeout * 1000,
    hookStallMs: settings.hookStall * 1000,
    hookMemoryMb: settings.hookMemory,
    inspectHooks: settings.inspectHooks,
    modelStallMs: settings.modelStall * 1000,
    maxQueue: settings.maxQueue,
    maxQueueBytes: settings.maxQueueBytes,
    requestTimeoutMs: settings.requestTimeout * 1000,
    sendTimeoutMs: settings.sendTimeout * 1000,
  };
}

function isModelFlag(flag: ListedFlag): flag is ModelFlag {
  return flag.flag === "driver" || flag.flag === "model-path";
}

/** Not a path to a driver file, which is better compiled only once. */
function isBareName(driver: string): boolean {
  return !/[./\\]/.test(driver);
}
