import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { runHookThread } from "./hook-host/hook-thread.ts";
import { LazyRemote } from "./remote/lazy-remote.ts";

await runHookThread(parentPort as MessagePort, workerData, new LazyRemote());
// Ends this thread only, whatever timers and sockets the hooks left open.
process.exit();
