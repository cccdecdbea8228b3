import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import { ServingError } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import { HeartbeatWatch } from "../../threads/heartbeat.ts";
import { threadEntry } from "../../threads/thread-entry.ts";
import { logEvent } from "../../threads/thread-logger.ts";
import { fromWireError } from "../../threads/wire-error.ts";
import type { ModelThreadCommand, ModelThreadData, ModelThreadEvent, ModelWorkerData } from "./model-thread.ts";

type Loaded = Extract<ModelThreadEvent, { readonly loaded: unknown }>["loaded"];

/** A thread with a loaded model. */
export interface ModelThread extends Loaded {
  /** Resolves, with what happened, once the thread is of no use any more: it ended by itself, or stands still. */
  readonly lost: Promise<string>;
  /** Resolves once the thread has ended. */
  readonly ended: Promise<unknown>;
  /** A new line to the model. */
  connect(): MessagePort;
  /** Waits for the last predict, then frees the model and lets the thread end by itself: native code may run in it until then. */
  close(): Promise<void>;
}

/** Starts a thread, loads a model in it and resolves once it can predict; throws what loading threw. */
export async function startModelThread(data: ModelThreadData, log: Logger): Promise<ModelThread> {
  const { stallMs, ...rest } = data;
  let stalled = () => {};
  const stall = new Promise<string>((resolve) => {
    stalled = () => resolve(`has stood still for ${stallMs} ms`);
  });
  const heartbeat = new SharedArrayBuffer(4);
  const workerData = { ...rest, heartbeat } satisfies ModelWorkerData;
  const worker = new Worker(threadEntry("model-host/threads/model-thread-entry"), { workerData, name: "model" });
  let isOver = false;
  const ended = new Promise<string>((resolve) => worker.once("exit", () => resolve("ended")));
  const say = (command: ModelThreadCommand, transfer: MessagePort[] = []) => worker.postMessage(command, transfer);
  const loaded = await whenLoaded(worker, log);
  // Not before: a large model blocks its thread while it loads, and that is no stall.
  const watch = new HeartbeatWatch(stallMs, stalled, heartbeat);
  void ended.then(() => {
    isOver = true;
    watch.stop();
  });
  return {
    ...loaded,
    ended,
    lost: Promise.race([ended, stall]),
    connect: () => {
      const { port1, port2 } = new MessageChannel();
      // A thread that has ended would swallow the port, and its user would wait for ever.
      if (isOver) port2.close();
      else say({ attach: port2 }, [port2]);
      return port1;
    },
    close: async () => {
      say({ close: true });
      await ended;
    },
  };
}

/** An error that nobody caught in a driver ends its thread: the lines to it die, and with them what was asked on them. */
function whenLoaded(worker: Worker, log: Logger): Promise<Loaded> {
  return new Promise((resolve, reject) => {
    worker.on("message", (event: ModelThreadEvent) => {
      if ("log" in event) logEvent(log, event.log);
      else if ("loaded" in event) resolve(event.loaded);
      else if ("failed" in event) reject(fromWireError(event.failed));
    });
    worker.once("error", (reason) => {
      log.error("a model's thread failed", { err: reason });
      reject(
        new ServingError("failed_precondition", `The model's thread failed: ${String(reason)}`, { cause: reason }),
      );
    });
    worker.once("exit", () => {
      reject(new ServingError("failed_precondition", "The model's thread ended while it was loading."));
    });
  });
}
