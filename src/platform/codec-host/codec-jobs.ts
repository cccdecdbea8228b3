import type { CancelSignal } from "../async/cancel-source.ts";
import { inOrder } from "../async/promises.ts";
import { borrowMemory, markBorrowed } from "../limits/memory/memory-pool.ts";
import type { MemoryShare } from "../limits/memory/memory-share.ts";
import { codecs } from "./codec-pool.ts";
import { type EncodedForm, encodingBytes } from "./encoding-bytes.ts";
import type { Job } from "./job.ts";

/** The call that a message belongs to. */
interface JobCall {
  readonly signal: CancelSignal;
  readonly memory?: MemoryShare | undefined;
}

/** A message to decode, and the memory limit of the result. */
interface DecodeOptions extends JobCall {
  readonly message: Uint8Array;
  readonly maxBytes: number;
  /** Maximum memory of the result, as a multiple of the message's bytes. Default: that of protobuf. */
  readonly growth?: number;
}

const PROTOBUF_GROWTH = 32;

/** Two ways to decode a message whose values may take so many bytes. */
export interface Decoding<Result> {
  /** For the main thread; undefined if that would take long. */
  readonly quickly: (message: Uint8Array, maxBytes: number) => Result | undefined;
  readonly job: Job<[message: Uint8Array, maxBytes: number], Result>;
}

/** Decodes a message here, or if that would take long, by {@link decodeInThread}. */
export function decodeMessage<Result>(
  { quickly, job }: Decoding<Result>,
  given: DecodeOptions,
): Result | Promise<Result> {
  const { message, maxBytes } = given;
  return quickly(message, maxBytes) ?? decodeInThread(job, [message, maxBytes], given);
}

/** Decodes a message in a codec thread, to which its memory is transferred. */
export function decodeInThread<Args extends readonly unknown[], Result>(
  job: Job<Args, Result>,
  args: Args,
  { message, maxBytes, growth = PROTOBUF_GROWTH, signal, memory }: DecodeOptions,
): Promise<Result> {
  const scratchBytes = Math.min(growth * message.length, maxBytes);
  const transfer = new Set([message.buffer]);
  return codecs.run(job, args, { transfer, signal, memory, scratchBytes, costBytes: message.length });
}

/** Share of the most memory that writing text takes which its characters usually are. */
const TEXT_SHARE = 1 / 4;

/** A call of which a message is encoded in a form. */
interface EncodeOptions extends JobCall {
  /** Default: protobuf. */
  readonly form?: EncodedForm;
  /** True if its tensors may be needed again. Default false. */
  readonly keepsTensors?: boolean;
}

/**
 * Encodes a message in a codec thread, to which its tensors are transferred unless they may be needed again, by the
 * caller or by hooks of this thread that have kept them.
 */
export function encodeInThread<Args extends readonly unknown[], Result>(
  job: Job<Args, Result>,
  args: Args,
  { signal, memory, form = "protobuf", keepsTensors = false }: EncodeOptions,
): Promise<Result> {
  const transfer = !keepsTensors && memory?.isWireOnly === true ? "owned" : undefined;
  const scratchBytes = encodingBytes(args, form);
  return codecs.run(job, args, { transfer, signal, memory, scratchBytes, costBytes: costOf(scratchBytes, form) });
}

function costOf(scratchBytes: number, form: EncodedForm): number {
  return form === "text" ? TEXT_SHARE * scratchBytes : scratchBytes;
}

/** Share of a message's maximum memory that its bytes seldom exceed: buffers that grow are counted twice there. */
const ROOM_SHARE = 0.55;
/** Memory is a multiple of it, in bytes: that of few sizes is used again more often. */
const ROOM_UNIT = 128 * 1024;

/**
 * Parts of one large message in order: bytes as they are, and the results of a job, which several threads do at the
 * same time. What the arguments of a part view is copied when its turn comes, and parts are made only as fast as they
 * are taken. The job gets memory to write to, which the sender of a part should return.
 */
export function encodeInParts<Args extends readonly unknown[]>(
  job: Job<readonly [...Args, room: Uint8Array], Uint8Array>,
  parts: Iterable<Uint8Array | Args>,
  { signal, memory, form = "protobuf" }: EncodeOptions,
): AsyncIterable<Uint8Array> {
  const encode = async (part: Uint8Array | Args) => {
    if (part instanceof Uint8Array) return part;
    const scratchBytes = encodingBytes(part, form);
    const room = borrowMemory(Math.ceil((ROOM_SHARE * scratchBytes) / ROOM_UNIT) * ROOM_UNIT);
    const costBytes = costOf(scratchBytes, form);
    const options = { transfer: new Set([room]), signal, memory, scratchBytes, costBytes };
    const made = await codecs.run(job, [...part, new Uint8Array(room)] as const, options);
    markBorrowed(made.buffer);
    return made;
  };
  // One is sent, and another waits for that, while the threads make others.
  return inOrder(parts, encode, codecs.maxThreads + 2);
}
