import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { LazyRemote } from "./lazy-remote.ts";
import { runHookThread } from "./pipeline/hook-thread.ts";

await runHookThread(parentPort as MessagePort, workerData, new LazyRemote());
// Ends this thread only, whatever timers and sockets the hooks left open.
process.exit();
