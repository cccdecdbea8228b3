import type { Duplex } from "node:stream";
import { ServingError } from "../../errors.ts";
import { createTensors, type Tensors } from "../../tensor/tensor.ts";
import { hidePaths } from "../../text/hide-paths.ts";
import { FrameReader, PREFIX_BYTES } from "./frame-reader.ts";
import type { SlotFile } from "./slot-file.ts";
import { decodeTensor, encodeTensor } from "./tensor-bytes.ts";

/** From here on a file in memory costs less than the pipe, in bytes. */
const SLOT_BYTES = 1 << 16;

/** What is asked: `op` and whatever belongs to it, with tensors beside it. */
export interface Question {
  readonly op: "load" | "predict" | "call";
  readonly tensors?: Tensors;
  readonly [field: string]: unknown;
}

/** What came of it. */
export interface Answer {
  readonly result: unknown;
  readonly tensors: Tensors;
}

/** name, dtype, shape, bytes, and where they are: a position in the slot's file, or -1 for the body. */
type TensorEntry = readonly [name: string, dtype: string, shape: readonly number[], size: number, position: number];

interface AnswerHeader {
  readonly id: number;
  readonly result?: unknown;
  readonly tensors?: readonly TensorEntry[];
  readonly error?: { readonly code: string; readonly message: string; readonly detail: string | null };
}

interface Waiting {
  readonly op: Question["op"];
  readonly slot: number;
  resolve(answer: Answer): void;
  reject(reason: unknown): void;
}

/** Questions to a Python process and its answers. Large tensors go through files in memory, one for each question that has them under way. */
export class Conversation {
  readonly #stream: Duplex;
  readonly #slots: readonly SlotFile[];
  readonly #free: number[];
  readonly #waiting = new Map<number, Waiting>();
  readonly #onProgress: () => void;
  #asked = 0;
  #lost: ServingError | undefined;

  /** `onProgress` is told whenever the oldest question is another one, or none. */
  constructor(stream: Duplex, slots: readonly SlotFile[], onProgress: () => void) {
    this.#stream = stream;
    this.#slots = slots;
    this.#free = slots.map((_, index) => index);
    this.#onProgress = onProgress;
    const reader = new FrameReader((header, body) => this.#onFrame(header, body));
    stream.on("data", (chunk: Buffer) => reader.push(chunk));
    // Whoever watches the process tells what has happened to it.
    stream.on("error", () => {});
  }

  /** Questions that have no answer yet. */
  get pending(): number {
    return this.#waiting.size;
  }

  /** Asks, and gives the answer; rejects with the error that Python answers, or with what {@link fail} is given. */
  ask(question: Question): Promise<Answer> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    return new Promise((resolve, reject) => {
      const id = this.#asked++;
      const slot = this.#free.pop() ?? -1;
      this.#waiting.set(id, { op: question.op, slot, resolve, reject });
      if (this.#waiting.size === 1) this.#onProgress();
      this.#send(id, question, slot).catch((reason: unknown) => {
        this.#waiting.delete(id);
        void this.#release(slot);
        reject(reason);
      });
    });
  }

  /** Fails what waits, the oldest question with a reason of its own: it is the one that was being answered. */
  fail(oldest: ServingError, others: ServingError): void {
    this.#lost = others;
    const [first, ...rest] = this.#waiting.values();
    this.#waiting.clear();
    this.#onProgress();
    first?.reject(oldest);
    for (const { reject } of rest) reject(others);
  }

  async #send(id: number, { tensors = {}, ...fields }: Question, slot: number): Promise<void> {
    const entries: TensorEntry[] = [];
    const parts: Uint8Array[] = [];
    let position = 0;
    for (const [name, tensor] of Object.entries(tensors)) {
      const bytes = encodeTensor(tensor);
      const { dtype, shape } = tensor;
      if (bytes.byteLength >= SLOT_BYTES && (await this.#slots[slot]?.write(bytes, position))) {
        entries.push([name, dtype, shape, bytes.byteLength, position]);
        position += alignTo(64, bytes.byteLength);
      } else {
        entries.push([name, dtype, shape, bytes.byteLength, -1]);
        parts.push(bytes);
      }
    }
    if (this.#waiting.has(id)) this.#stream.write(frame({ id, slot, ...fields, tensors: entries }, parts));
  }

  #onFrame(header: string, body: Buffer): void {
    const answer = JSON.parse(header) as AnswerHeader;
    const waiting = this.#waiting.get(answer.id);
    if (waiting === undefined) return;
    this.#waiting.delete(answer.id);
    this.#onProgress();
    if (answer.error !== undefined) waiting.reject(toError(answer.error, waiting.op));
    const tensors = this.#readTensors(answer.tensors ?? [], body, waiting.slot);
    tensors
      .then((read) => waiting.resolve({ result: answer.result, tensors: read }), waiting.reject)
      .finally(() => this.#release(waiting.slot));
  }

  async #readTensors(entries: readonly TensorEntry[], body: Buffer, slot: number): Promise<Tensors> {
    const tensors = createTensors();
    let start = 0;
    for (const [name, dtype, shape, size, position] of entries) {
      // Each has a buffer to itself, so that the server can hand it over.
      const bytes = Buffer.allocUnsafeSlow(size);
      if (position >= 0) await this.#slots[slot]?.read(bytes, position);
      else {
        body.copy(bytes, 0, start, start + size);
        start += alignTo(8, size);
      }
      tensors[name] = decodeTensor(dtype, shape, bytes);
    }
    return tensors;
  }

  async #release(slot: number): Promise<void> {
    if (slot < 0) return;
    await this.#slots[slot]?.trim().catch(() => {});
    this.#free.push(slot);
  }
}

/** One buffer of its own: the stream may hold it longer than the caller waits. */
function frame(header: unknown, parts: readonly Uint8Array[]): Buffer {
  const text = Buffer.from(JSON.stringify(header));
  const bodySize = parts.reduce((sum, part) => sum + alignTo(8, part.byteLength), 0);
  const bytes = Buffer.alloc(PREFIX_BYTES + text.length + bodySize);
  bytes.writeUInt32LE(text.length, 0);
  bytes.writeBigUInt64LE(BigInt(bodySize), 4);
  bytes.set(text, PREFIX_BYTES);
  let end = PREFIX_BYTES + text.length;
  for (const part of parts) {
    bytes.set(part, end);
    end += alignTo(8, part.byteLength);
  }
  return bytes;
}

function alignTo(size: number, bytes: number): number {
  return Math.ceil(bytes / size) * size;
}

/** Longer texts are of no use to a client, and looking for paths takes time. */
const MAX_MESSAGE = 4096;

/** Whoever loads a model may know where it lies; whoever asks it may not. */
function toError({ code, message, detail }: NonNullable<AnswerHeader["error"]>, op: Question["op"]): ServingError {
  const short = message.slice(0, MAX_MESSAGE);
  const text = op === "load" ? short : hidePaths(short);
  return new ServingError(code as ServingError["code"], text, detail === null ? {} : { cause: new Error(detail) });
}
