import { workerData } from "node:worker_threads";
import { runDrawingThread } from "./drawing-thread.ts";

runDrawingThread(workerData);
