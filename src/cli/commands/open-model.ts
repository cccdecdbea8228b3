import { createSilentLogger } from "../../observability/logger.ts";
import type { Server } from "../../server/server.ts";
import { drawDownloads, LiveLine } from "../live-line.ts";
import { modelName } from "../settings/model-name.ts";
import { parseOptionFlags } from "../settings/parse-option-flags.ts";
import type { ModelFlags } from "./create-parser.ts";

/** A model that a command has loaded, without any port. */
export interface OpenModel {
  readonly name: string;
  readonly server: Server;
}

/**
 * Loads one model, or hooks alone, as `kserving serve` would; rejects with the reason for which it cannot be loaded.
 * The server is imported here, since that takes its time.
 */
export async function openModel(path: string, { driver, hooks, option }: ModelFlags): Promise<OpenModel> {
  const { createServer } = await import("../../server/server.ts");
  const name = modelName(path);
  const { shared: options } = parseOptionFlags(option, 1);
  const model = { path, options, ...(driver !== undefined && { driver }), ...(hooks !== undefined && { hooks }) };
  const server = await createServer({
    models: { [name]: model },
    ...{ listen: false, failFast: true, loadRetries: 0, drainTimeoutMs: 1000 },
    onDownload: drawDownloads(new LiveLine()),
    log: createSilentLogger(),
  });
  return { name, server };
}
