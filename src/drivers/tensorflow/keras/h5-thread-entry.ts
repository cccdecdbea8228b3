import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { runH5Thread } from "./h5-thread.ts";

runH5Thread(parentPort as MessagePort, workerData);
