import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import { failedPrecondition } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import { HeartbeatWatch } from "../../threads/heartbeat.ts";
import { type MalformedListener, MalformedMessage } from "../../threads/malformed-message.ts";
import { threadEntry } from "../../threads/thread-entry.ts";
import { isLogEvent, logEvent } from "../../threads/thread-logger.ts";
import { fromWireError, isWireError } from "../../threads/wire-error.ts";
import type { ModelThreadCommand, ModelThreadData, ModelThreadEvent, ModelWorkerData } from "./model-thread.ts";

type Loaded = Extract<ModelThreadEvent, { readonly loaded: unknown }>["loaded"];

/** A thread with a loaded model. */
export interface ModelThread extends Loaded {
  /** Resolves, with what happened, once the thread is of no use any more: it ended by itself, or stands still. */
  readonly lost: Promise<string>;
  /** Resolves once the thread has ended. */
  readonly ended: Promise<unknown>;
  /** A new line to the model; `onMalformed` is told when the other end's thread sends a malformed message. */
  connect(onMalformed?: MalformedListener): MessagePort;
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
  const lines = new AttachedLines();
  const loaded = await whenLoaded(worker, lines, log);
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
    connect: (onMalformed) => {
      const { port1, port2 } = new MessageChannel();
      // A thread that has ended would swallow the port, and its user would wait for ever.
      if (isOver) port2.close();
      else say({ attach: port2, line: lines.add(onMalformed) }, [port2]);
      return port1;
    },
    close: async () => {
      say({ close: true });
      await ended;
    },
  };
}

/** The lines that a model thread answers on, by number. */
class AttachedLines {
  readonly #listeners = new Map<number, MalformedListener | undefined>();
  #last = 0;

  /** Returns the line's number. */
  add(onMalformed: MalformedListener | undefined): number {
    this.#listeners.set(++this.#last, onMalformed);
    return this.#last;
  }

  /** `malformed` says what was wrong with the message that ended the line. */
  delete(line: number, malformed: string | undefined): void {
    const onMalformed = this.#listeners.get(line);
    this.#listeners.delete(line);
    if (malformed !== undefined) onMalformed?.(new MalformedMessage(malformed));
  }
}

/** A user's driver, or a package that it imports, may post to the thread's parent port too; native code may run there, so the thread stays. */
function isModelThreadEvent(value: unknown): value is ModelThreadEvent {
  if (typeof value !== "object" || value === null) return false;
  const { log, failed, loaded, detached } = value as { readonly [name: string]: unknown };
  if (log !== undefined) return isLogEvent(log);
  if (failed !== undefined) return isWireError(failed);
  return typeof detached === "number" || (typeof loaded === "object" && loaded !== null && "facts" in loaded);
}

function oncePerThread(log: Logger): () => void {
  let isTold = false;
  return () => {
    if (!isTold)
      log.warn("a driver posted a message to the thread's parent port, which is the server's; it was ignored");
    isTold = true;
  };
}

/** An error that nobody caught in a driver ends its thread: the lines to it die, and with them what was asked on them. */
function whenLoaded(worker: Worker, lines: AttachedLines, log: Logger): Promise<Loaded> {
  return new Promise((resolve, reject) => {
    const warnOnce = oncePerThread(log);
    worker.on("message", (event: unknown) => {
      if (!isModelThreadEvent(event)) warnOnce();
      else if ("log" in event) logEvent(log, event.log);
      else if ("loaded" in event) resolve(event.loaded);
      else if ("failed" in event) reject(fromWireError(event.failed));
      else lines.delete(event.detached, event.malformed);
    });
    worker.on("error", (reason) => {
      log.error("a model's thread failed", { err: reason });
      reject(failedPrecondition(`The model's thread failed: ${String(reason)}`, reason));
    });
    worker.once("exit", () => {
      reject(failedPrecondition("The model's thread ended while it was loading."));
    });
  });
}
