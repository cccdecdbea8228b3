import { workerData } from "node:worker_threads";
import { nameThread } from "../../platform/threads/thread-entry.ts";
import { runImageThread } from "./image-thread.ts";

nameThread("images");
runImageThread(workerData);
