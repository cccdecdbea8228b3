import { once } from "node:events";
import { ServingError } from "../../../errors.ts";
import { createSilentLogger } from "../../../observability/logger.ts";
import { createServer } from "../../../server/server.ts";
import type { ServeJob, ServeReport } from "./server-process.ts";

const [job] = (await once(process, "message")) as [ServeJob];
// Its model may still run: nothing is waited for.
process.once("disconnect", () => process.kill(process.pid, "SIGKILL"));
const report: ServeReport = await serveJob(job);
process.send?.(report);

/** Serves a model on free ports of this machine; never rejects. */
async function serveJob({ name, model }: ServeJob): Promise<ServeReport> {
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
