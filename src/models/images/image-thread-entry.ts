import { workerData } from "node:worker_threads";
import { runImageThread } from "./image-thread.ts";

runImageThread(workerData);
