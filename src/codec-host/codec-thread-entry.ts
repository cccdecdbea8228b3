import { type MessagePort, parentPort } from "node:worker_threads";
import { runCodecThread } from "./codec-thread.ts";
import { yieldToThreads } from "./yield-to-threads.ts";

yieldToThreads();
runCodecThread(parentPort as MessagePort);
