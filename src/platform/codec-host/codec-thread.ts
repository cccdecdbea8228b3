import { getPriority, setPriority } from "node:os";
import { getHeapStatistics } from "node:v8";
import type { MessagePort } from "node:worker_threads";
import { invalidArgument, ServingError } from "../../errors.ts";
import { containerRoom } from "../limits/memory/container-room.ts";
import { collectAll } from "../limits/memory/young-garbage.ts";
import { toWireError, type WireError } from "../threads/wire-error.ts";
import type { Job } from "./job.ts";
import { fromJobMessage, type JobMessage, toJobMessage } from "./job-message.ts";

/** A job for a codec thread, which does one at a time. */
export interface CodecCommand {
  /** See {@link Job}. */
  readonly module: string;
  readonly name: string;
  readonly args: JobMessage;
}

/** The end of a job. */
export type CodecEvent = { readonly result: JobMessage } | { readonly failed: WireError };

/** Does the jobs that arrive on a port. */
export function runCodecThread(port: MessagePort): void {
  port.on("message", async (command: CodecCommand) => {
    await answer(port, command);
    collectLargeHeap();
  });
}

async function answer(port: MessagePort, { module, name, args }: CodecCommand): Promise<void> {
  try {
    const job = await importJob(module, name);
    const { message, transfer } = toJobMessage(await job.run(...(fromJobMessage(args) as unknown[])), "owned");
    checkExtent(message.tree);
    port.postMessage({ result: message } satisfies CodecEvent, transfer);
  } catch (reason) {
    port.postMessage({ failed: toWireError(reason) } satisfies CodecEvent);
  }
}

async function importJob(module: string, name: string): Promise<Job<unknown[], unknown>> {
  const exports = await import(new URL(`../../${module}.js`, import.meta.url).href);
  const job: Job<unknown[], unknown> | undefined = exports[name];
  if (job?.module === module) return job;
  throw new ServingError("internal", `The module ${module} exports no job "${name}".`);
}

/**
 * Maximum number of a result's values besides its tensors and bytes, and of their characters: reading more would block
 * the main thread.
 */
const MAX_VALUES = 32 * 1024;
const MAX_CHARACTERS = 1024 * 1024;

/** Throws `invalid_argument` unless the plain part of a message to the main thread is small. */
function checkExtent(tree: unknown): void {
  let values = 0;
  let characters = 0;
  const count = (value: unknown): void => {
    values++;
    if (typeof value === "string") characters += value.length;
    if (values > MAX_VALUES || characters > MAX_CHARACTERS) throw tooMuch();
    if (Array.isArray(value)) for (const each of value) count(each);
  };
  count(tree);
}

function tooMuch(): ServingError {
  return invalidArgument(
    `The message has more than ${MAX_VALUES} names and parameters, or more than ${MAX_CHARACTERS} characters in them; send fewer, and large data as values of inputs.`,
  );
}

/**
 * A heap of this size, in bytes, is collected: an idle thread would keep it, since V8 collects when something is made.
 */
const LARGE_HEAP_BYTES = 64 * 1024 * 1024;
/** Share of what a container has left that a thread may keep in its place. */
const KEPT_SHARE = 1 / 16;

/** Frees what large work left in the heap of this thread, and in the buffers that its garbage refers to. */
function collectLargeHeap(): void {
  const { total_heap_size: heapBytes, external_memory: externalBytes } = getHeapStatistics();
  if (heapBytes + externalBytes >= largeHeapBytes()) collectAll();
}

/** Size from which a heap is collected, in bytes: less if the container is short of memory. */
function largeHeapBytes(): number {
  return Math.min(LARGE_HEAP_BYTES, containerRoom.freeBytes * KEPT_SHARE);
}

/** Nice value of a codec thread: it gets a third of what a thread of 0 gets on the same core. */
const NICE = 5;

/**
 * Lets other threads, of which the main thread waits for sockets, go before this one if cores are short. Only Linux
 * has priorities of threads: elsewhere, and if a sandbox has none, nothing changes.
 */
export function yieldToThreads(): void {
  if (process.platform !== "linux") return;
  try {
    if (getPriority() < NICE) setPriority(NICE);
  } catch {
    // It is as fast as the others then.
  }
}
