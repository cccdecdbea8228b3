import { type MessagePort, parentPort } from "node:worker_threads";
import { nameThread } from "../threads/thread-entry.ts";
import { runCodecThread, yieldToThreads } from "./codec-thread.ts";

nameThread("codec");
yieldToThreads();
runCodecThread(parentPort as MessagePort);
