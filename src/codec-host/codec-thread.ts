import type { MessagePort } from "node:worker_threads";
import { ServingError } from "../errors.ts";
import { toWireError, type WireError } from "../threads/wire-error.ts";
import { checkExtent } from "./check-extent.ts";
import { collectLargeHeap } from "./collect-large-heap.ts";
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
  const exports = await import(new URL(`../${module}.js`, import.meta.url).href);
  const job: Job<unknown[], unknown> | undefined = exports[name];
  if (job?.module === module) return job;
  throw new ServingError("internal", `The module ${module} exports no job "${name}".`);
}
