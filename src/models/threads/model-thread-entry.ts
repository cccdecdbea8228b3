import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { nameThread } from "../../platform/threads/thread-entry.ts";
import { lowerPriority } from "./start-priority.ts";
import type { ModelEntryData } from "./waiting-worker.ts";

nameThread("model");
const { isFirst } = workerData as ModelEntryData;
const onStarted = isFirst ? () => {} : lowerPriority();
const { runModelThread } = await import("./run-model-thread.ts");
await runModelThread(parentPort as MessagePort, onStarted);
// Ends this thread only, whatever timers the driver left; nothing native runs any more.
process.exit();
