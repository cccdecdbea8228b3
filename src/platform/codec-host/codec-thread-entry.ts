import { type MessagePort, parentPort } from "node:worker_threads";
import { runCodecThread, yieldToThreads } from "./codec-thread.ts";

yieldToThreads();
runCodecThread(parentPort as MessagePort);
