import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { runModelThread } from "./model-thread.ts";

await runModelThread(parentPort as MessagePort, workerData);
// Ends this thread only, whatever timers the driver left; nothing native runs any more.
process.exit();
