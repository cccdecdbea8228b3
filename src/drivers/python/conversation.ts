import type { Duplex } from "node:stream";
import { publicText, ServingError } from "../../errors.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import { type AnswerCall, answerCall, FIRST_CALL, fromPythonError, type PythonError, refusal } from "./answer-calls.ts";
import { FrameReader, MAX_FRAME_BYTES, writeFrame } from "./frames.ts";
import type { SlotFile } from "./slot-file.ts";
import {
  areInBody,
  checkEntries,
  fillSlot,
  partsOf,
  readBody,
  readTensors,
  SLOT_BYTES,
  type TensorEntry,
  toEntries,
} from "./tensor-entries.ts";

/** A request: `op` and its fields, with tensors next to it. */
export interface PythonRequest {
  readonly op: "load" | "predict" | "call" | "ready" | "hooks" | "init" | "hook" | PartsOp | "handler" | "function";
  readonly tensors?: Tensors;
  /** Number of the request that a hook runs for. */
  readonly context?: number;
  /** Milliseconds since 1970. */
  readonly deadline?: number | undefined;
  readonly [field: string]: unknown;
}

/** Requests to a generator: its first part, each further one, its end before its time. */
type PartsOp = "open" | "next" | "leave";

/** The answer to a request. */
export interface PythonResponse {
  /** Null for the end of a generator. */
  readonly result: unknown;
  readonly tensors: Tensors;
  /** Additions of a hook to the response. */
  readonly response?: unknown;
}

/** Requests of clients, to which no path may go. */
const FOR_CLIENTS: ReadonlySet<PythonRequest["op"]> = new Set(["predict", "call", "hook", "open", "next", "leave"]);

interface AnswerHeader {
  readonly result?: unknown;
  readonly response?: unknown;
  readonly tensors?: readonly TensorEntry[];
  readonly error?: PythonError;
}

interface Waiting {
  readonly op: PythonRequest["op"];
  readonly slot: number;
  resolve(answer: PythonResponse): void;
  reject(reason: unknown): void;
}

/** Handlers of a {@link Conversation}. */
interface ConversationListener {
  /** Called whenever the oldest request has changed. */
  onProgress(): void;
  /** Answers the questions of the process; absent if it has none. */
  readonly onCall?: AnswerCall | undefined;
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
  readonly #listener: ConversationListener;
  /** The last answer's header that had only tensors, and its content: the next one's is often the same. */
  #lastHeader = { bytes: Buffer.alloc(0), entries: [] as readonly TensorEntry[] };
  #asked = 0;
  #lost: ServingError | undefined;

  /** Requests use the first `own` slots; the others are for the questions of the process. */
  constructor(
    stream: Duplex,
    { slots, own }: { slots: readonly SlotFile[]; own: number },
    listener: ConversationListener,
  ) {
    this.#stream = stream;
    this.#slots = slots;
    this.#free = Array.from({ length: own }, (_, index) => index);
    this.#listener = listener;
    const reader = new FrameReader({
      onFrame: (id, header, body) => this.#onFrame(id, header, body),
      onTooLarge: (id, bytes) => this.#refuse(id, bytes),
    });
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
    const parts = partsOf(request.tensors ?? {});
    const bytes = parts.reduce((sum, part) => sum + part.byteLength, 0);
    if (bytes > MAX_FRAME_BYTES) return Promise.reject(tooLarge("A request for", bytes));
    return new Promise((resolve, reject) => {
      const id = this.#asked++ % FIRST_CALL;
      const slot = this.#free.pop() ?? -1;
      this.#waiting.set(id, { op: request.op, slot, resolve, reject });
      if (this.#waiting.size === 1) this.#listener.onProgress();
      const abandon = (reason: unknown) => {
        this.#waiting.delete(id);
        this.#release(slot);
        reject(reason);
      };
      this.#start({ id, slot, request, parts }, abandon);
    });
  }

  /** Tells the process something, without an answer. */
  tell(op: "drop", context: number): void {
    if (this.#lost !== undefined || !this.#stream.writable) return;
    this.#stream.write(writeFrame({ id: 0, slot: -1, context, header: JSON.stringify({ op }), body: [] }));
  }

  /** Rejects all open requests; the oldest one, which was being answered, with its own reason. */
  fail(oldest: ServingError, others: ServingError): void {
    this.#lost = others;
    const [first, ...rest] = this.#waiting.values();
    this.#waiting.clear();
    this.#listener.onProgress();
    first?.reject(oldest);
    for (const { reject } of rest) reject(others);
  }

  /** Most requests are small, and are sent at once. */
  #start(sending: Sending, abandon: (reason: unknown) => void): void {
    const isLarge = sending.parts.some(({ byteLength }) => byteLength >= SLOT_BYTES);
    if (isLarge) {
      fillSlot(this.#slots[sending.slot], sending.parts, 0)
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

  #send({ id, slot, request, parts }: Sending, positions: readonly number[]): void {
    if (!this.#waiting.has(id)) return;
    const { tensors = {}, deadline, context, ...fields } = request;
    const { entries, body } = toEntries(tensors, parts, positions);
    const header = JSON.stringify({ ...fields, tensors: entries });
    const frame = writeFrame({ id, deadline, slot, context, header, body });
    if (frame.length > MAX_FRAME_BYTES) throw tooLarge("A request for", frame.length);
    this.#stream.write(frame);
  }

  #onFrame(id: number, header: Buffer, body: Buffer): void {
    if (id >= FIRST_CALL) {
      void this.#answer(id, header, body);
      return;
    }
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    this.#listener.onProgress();
    try {
      this.#settle(waiting, header, body);
    } catch (cause) {
      this.#release(waiting.slot);
      waiting.reject(unreadable(cause));
    }
  }

  /** Throws if the process has sent something else than its program writes. */
  #settle(waiting: Waiting, header: Buffer, body: Buffer): void {
    const { slot, op } = waiting;
    const { result, response, error, tensors = [] } = this.#parse(header);
    if (error !== undefined) {
      waiting.reject(fromPythonError(error, FOR_CLIENTS.has(op)));
      this.#release(slot);
      return;
    }
    checkEntries(tensors, body.length, this.#slots[slot]);
    if (areInBody(tensors)) {
      waiting.resolve({ result, response, tensors: readBody(tensors, body) });
      this.#release(slot);
      return;
    }
    readTensors(tensors, body, this.#slots[slot])
      .then((read) => waiting.resolve({ result, response, tensors: read }))
      .catch((cause) => waiting.reject(unreadable(cause)))
      .finally(() => this.#release(slot));
  }

  /** An answer that is too large; one to a question of the process itself fails that. */
  #refuse(id: number, bytes: number): void {
    const waiting = this.#waiting.get(id);
    if (id >= FIRST_CALL && this.#stream.writable) this.#stream.write(refusal(id, tooLarge("A question of", bytes)));
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    this.#listener.onProgress();
    this.#release(waiting.slot);
    waiting.reject(tooLarge("The answer of", bytes));
  }

  async #answer(id: number, header: Buffer, body: Buffer): Promise<void> {
    const { onCall } = this.#listener;
    if (onCall === undefined) return;
    const frame = await answerCall({ id, header, body }, this.#slots, onCall);
    if (this.#lost === undefined && this.#stream.writable) this.#stream.write(frame);
  }

  #parse(header: Buffer): AnswerHeader {
    if (header.equals(this.#lastHeader.bytes)) return { tensors: this.#lastHeader.entries };
    const answer = JSON.parse(header.toString()) as AnswerHeader;
    if (typeof answer !== "object") throw new TypeError("it is no object.");
    const { result, response, error, tensors = [] } = answer;
    if (result === undefined && response === undefined && error === undefined)
      this.#lastHeader = { bytes: Buffer.from(header), entries: tensors };
    return answer;
  }

  #release(slot: number): void {
    if (slot < 0) return;
    const trimmed = this.#slots[slot]?.trim();
    if (trimmed === undefined) this.#free.push(slot);
    else void trimmed.catch(() => {}).then(() => this.#free.push(slot));
  }
}

/** The error for an answer that the process's program would not have written. */
function unreadable(cause: unknown): ServingError {
  const message = `The Python process sent an answer that cannot be read: ${publicText(cause)}`;
  return new ServingError("internal", message, { cause });
}

function tooLarge(what: string, bytes: number): ServingError {
  return new ServingError(
    "resource_exhausted",
    `${what} the Python process has ${bytes} bytes; ${MAX_FRAME_BYTES} at most are taken. Use fewer rows, or smaller tensors.`,
  );
}

/** A request on its way. */
interface Sending {
  readonly id: number;
  readonly slot: number;
  readonly request: PythonRequest;
  /** The tensors' bytes. */
  readonly parts: readonly Uint8Array[];
}
