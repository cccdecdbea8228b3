import type { CancelSignal } from "../async/cancel-source.ts";
import { codecs } from "../codec-host/codecs.ts";
import type { Job } from "../codec-host/job.ts";
import type { MemoryShare } from "../limits/memory-budget.ts";

/** For whom a message is decoded or encoded. */
interface JobCall {
  readonly signal: CancelSignal;
  readonly memory?: MemoryShare | undefined;
}

/** Memory of a decoded message, at most, as a multiple of its bytes. */
const MAX_GROWTH = 32;
const NOTHING: ReadonlySet<ArrayBufferLike> = new Set();

/** Decodes a message in a codec thread, to which its memory is transferred; `maxBytes` bounds what is made of it. */
export function decodeInThread<Result>(
  job: Job<[message: Uint8Array, maxBytes: number], Result>,
  message: Uint8Array,
  { signal, memory, maxBytes }: JobCall & { readonly maxBytes: number },
): Promise<Result> {
  const scratchBytes = Math.min(MAX_GROWTH * message.length, maxBytes);
  return codecs.run(job, [message, maxBytes], { transfer: new Set([message.buffer]), signal, memory, scratchBytes });
}

/** Encodes an answer in a codec thread, to which its tensors are transferred unless hooks of this thread may have kept them. */
export function encodeInThread<Args extends readonly unknown[], Result>(
  job: Job<Args, Result>,
  args: Args,
  { signal, memory }: JobCall,
): Promise<Result> {
  return codecs.run(job, args, { transfer: memory?.isWireOnly === true ? "owned" : NOTHING, signal, memory });
}
