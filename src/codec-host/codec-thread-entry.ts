import { type MessagePort, parentPort } from "node:worker_threads";
import { runCodecThread } from "./codec-thread.ts";

runCodecThread(parentPort as MessagePort);
