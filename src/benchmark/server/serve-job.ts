import { ServingError } from "../../errors.ts";
import { createSilentLogger } from "../../observability/logger.ts";
import { createServer } from "../../server/server.ts";
import type { ServeJob, ServeReport } from "./server-messages.ts";

/** Serves a model on free ports of this machine; never rejects. */
export async function serveJob({ name, model }: ServeJob): Promise<ServeReport> {
  try {
    const server = await createServer({
      models: { [name]: model },
      http: {},
      ...{ failFast: true, loadRetries: 0, shareThreads: false, ui: false },
      log: createSilentLogger(),
    });
    const [{ driver = "", runtime } = {}] = server.stages;
    const examples = (await server.exampleInputs())?.inputs ?? [];
    const { grpcAddress, httpUrl = "" } = server;
    return { isReady: true, grpcAddress, httpUrl, driver, ...(runtime !== undefined && { runtime }), examples };
  } catch (reason) {
    const { code, message } = ServingError.from(reason);
    return { isReady: false, code, message };
  }
}
