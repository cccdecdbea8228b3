/** The load generator: runs the jobs that its parent sends, one after the other, and sends back what each measured. */
import type { LoadJob } from "./load/load-job.ts";
import { runJob } from "./load/run-job.ts";

process.on("message", async (job: LoadJob) => {
  process.send?.(await runJob(job));
});
process.on("disconnect", () => process.exit());
process.send?.("ready");
