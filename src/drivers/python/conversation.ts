import type { Duplex } from "node:stream";
import { ServingError } from "../../errors.ts";
import { createTensors, type Tensors } from "../../tensor/tensor.ts";
import { hidePaths } from "../../text/hide-paths.ts";
import { FrameReader } from "./frame-reader.ts";
import type { SlotFile } from "./slot-file.ts";
import { decodeTensor, encodeTensor } from "./tensor-bytes.ts";
import { alignTo, writeFrame } from "./write-frame.ts";

/** From here on a file in memory costs less than the pipe, in bytes. */
const SLOT_BYTES = 1 << 16;

/** A request: `op` and its fields, with tensors next to it. */
export interface PythonRequest {
  readonly op: "load" | "predict" | "call";
  readonly tensors?: Tensors;
  /** Milliseconds since 1970. */
  readonly deadline?: number | undefined;
  readonly [field: string]: unknown;
}

/** The answer to a request. */
export interface PythonResponse {
  readonly result: unknown;
  readonly tensors: Tensors;
}

/** name, dtype, shape, bytes, and where they are: a position in the slot's file, or -1 for the body. */
type TensorEntry = readonly [name: string, dtype: string, shape: readonly number[], size: number, position: number];

interface AnswerHeader {
  readonly result?: unknown;
  readonly tensors?: readonly TensorEntry[];
  readonly error?: { readonly code: string; readonly message: string; readonly detail: string | null };
}

interface Waiting {
  readonly op: PythonRequest["op"];
  readonly slot: number;
  resolve(answer: PythonResponse): void;
  reject(reason: unknown): void;
}

/**
 * Sends requests to a Python process and receives its answers. Large tensors are passed in memory files, one for each
 * open request with large tensors.
 */
export class Conversation {
  readonly #stream: Duplex;
  readonly #slots: readonly SlotFile[];
  readonly #free: number[];
  readonly #waiting = new Map<number, Waiting>();
  readonly #onProgress: () => void;
  /** The last answer's header that had only tensors, and its content: the next one's is often the same. */
  #lastHeader = { bytes: Buffer.alloc(0), entries: [] as readonly TensorEntry[] };
  #asked = 0;
  #lost: ServingError | undefined;

  /** `onProgress` is called whenever the oldest request has changed. */
  constructor(stream: Duplex, slots: readonly SlotFile[], onProgress: () => void) {
    this.#stream = stream;
    this.#slots = slots;
    this.#free = slots.map((_, index) => index);
    this.#onProgress = onProgress;
    const reader = new FrameReader((id, header, body) => this.#onFrame(id, header, body));
    stream.on("data", (chunk: Buffer) => reader.push(chunk));
    // The process's supervisor reports its end.
    stream.on("error", () => {});
  }

  /** Requests that have no answer yet. */
  get pending(): number {
    return this.#waiting.size;
  }

  /** Asks, and gives the answer; rejects with the error that Python answers, or with what {@link fail} is given. */
  ask(request: PythonRequest): Promise<PythonResponse> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    const parts = Object.values(request.tensors ?? {}).map(encodeTensor);
    return new Promise((resolve, reject) => {
      const id = this.#asked++ >>> 0;
      const slot = this.#free.pop() ?? -1;
      this.#waiting.set(id, { op: request.op, slot, resolve, reject });
      if (this.#waiting.size === 1) this.#onProgress();
      const abandon = (reason: unknown) => {
        this.#waiting.delete(id);
        this.#release(slot);
        reject(reason);
      };
      this.#start({ id, slot, request, parts }, abandon);
    });
  }

  /** Rejects all open requests; the oldest one, which was being answered, with its own reason. */
  fail(oldest: ServingError, others: ServingError): void {
    this.#lost = others;
    const [first, ...rest] = this.#waiting.values();
    this.#waiting.clear();
    this.#onProgress();
    first?.reject(oldest);
    for (const { reject } of rest) reject(others);
  }

  /** Most requests are small, and are sent at once. */
  #start(sending: Sending, abandon: (reason: unknown) => void): void {
    const isLarge = sending.parts.some(({ byteLength }) => byteLength >= SLOT_BYTES);
    if (isLarge) {
      this.#fillSlot(sending)
        .then((positions) => this.#send(sending, positions))
        .catch(abandon);
      return;
    }
    try {
      this.#send(sending, []);
    } catch (reason) {
      abandon(reason);
    }
  }

  /** Writes large parts to a slot's file; where each is now, -1 = nowhere. */
  async #fillSlot({ slot, parts }: Sending): Promise<number[]> {
    const positions: number[] = [];
    let end = 0;
    for (const bytes of parts) {
      const isThere = bytes.byteLength >= SLOT_BYTES && (await this.#slots[slot]?.write(bytes, end));
      positions.push(isThere ? end : -1);
      if (isThere) end += alignTo(64, bytes.byteLength);
    }
    return positions;
  }

  #send({ id, slot, request, parts }: Sending, positions: readonly number[]): void {
    if (!this.#waiting.has(id)) return;
    const { tensors = {}, deadline, ...fields } = request;
    const entries = Object.entries(tensors).map(
      ([name, { dtype, shape }], index): TensorEntry => [
        name,
        dtype,
        shape,
        parts[index]!.byteLength,
        positions[index] ?? -1,
      ],
    );
    const header = JSON.stringify({ ...fields, tensors: entries });
    const body = parts.filter((_, index) => (positions[index] ?? -1) < 0);
    this.#stream.write(writeFrame({ id, deadline, slot, header, body }));
  }

  #onFrame(id: number, header: Buffer, body: Buffer): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    this.#onProgress();
    const { result, error, tensors = [] } = this.#parse(header);
    if (error !== undefined) {
      this.#release(waiting.slot);
      waiting.reject(toError(error, waiting.op));
    } else if (tensors.every(([, , , , position]) => position < 0)) {
      waiting.resolve({ result, tensors: readBody(tensors, body) });
      this.#release(waiting.slot);
    } else {
      this.#readTensors(tensors, body, waiting.slot)
        .then((read) => waiting.resolve({ result, tensors: read }), waiting.reject)
        .finally(() => this.#release(waiting.slot));
    }
  }

  #parse(header: Buffer): AnswerHeader {
    if (header.equals(this.#lastHeader.bytes)) return { tensors: this.#lastHeader.entries };
    const answer = JSON.parse(header.toString()) as AnswerHeader;
    const { result, error, tensors = [] } = answer;
    if (result === undefined && error === undefined)
      this.#lastHeader = { bytes: Buffer.from(header), entries: tensors };
    return answer;
  }

  async #readTensors(entries: readonly TensorEntry[], body: Buffer, slot: number): Promise<Tensors> {
    const tensors = readBody(entries, body);
    for (const [name, dtype, shape, size, position] of entries) {
      if (position < 0) continue;
      const bytes = Buffer.allocUnsafeSlow(size);
      await this.#slots[slot]?.read(bytes, position);
      tensors[name] = decodeTensor(dtype, [...shape], bytes);
    }
    return tensors;
  }

  #release(slot: number): void {
    if (slot < 0) return;
    const trimmed = this.#slots[slot]?.trim();
    if (trimmed === undefined) this.#free.push(slot);
    else void trimmed.catch(() => {}).then(() => this.#free.push(slot));
  }
}

/** A request on its way. */
interface Sending {
  readonly id: number;
  readonly slot: number;
  readonly request: PythonRequest;
  /** The tensors' bytes. */
  readonly parts: readonly Uint8Array[];
}

/** The tensors that are in the body. Each has a buffer to itself, so that the server can hand it over. */
function readBody(entries: readonly TensorEntry[], body: Buffer): Tensors {
  const tensors = createTensors();
  let start = 0;
  for (const [name, dtype, shape, size, position] of entries) {
    if (position >= 0) continue;
    const bytes = Buffer.allocUnsafeSlow(size);
    body.copy(bytes, 0, start, start + size);
    start += alignTo(8, size);
    // The entries may be those of other answers too.
    tensors[name] = decodeTensor(dtype, [...shape], bytes);
  }
  return tensors;
}

/** Longer texts are useless for a client, and searching for paths takes time. */
const MAX_MESSAGE = 4096;

/** The user who loads a model may see its path; a client must not. */
function toError({ code, message, detail }: NonNullable<AnswerHeader["error"]>, op: PythonRequest["op"]): ServingError {
  const short = message.slice(0, MAX_MESSAGE);
  const text = op === "load" ? short : hidePaths(short);
  return new ServingError(code as ServingError["code"], text, detail === null ? {} : { cause: new Error(detail) });
}
