import { once } from "node:events";
import { serveJob } from "./serve-job.ts";
import type { ServeJob, ServeReport } from "./server-messages.ts";

const [job] = (await once(process, "message")) as [ServeJob];
// Its model may still run: nothing is waited for.
process.once("disconnect", () => process.kill(process.pid, "SIGKILL"));
const report: ServeReport = await serveJob(job);
process.send?.(report);
