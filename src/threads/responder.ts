import { CancelSource } from "../async/cancel-source.ts";
import { publicText, ServingError } from "../errors.ts";
import { Channel, type Flushing } from "./channel.ts";
import { ANSWER, type Answer, CANCEL, FAILURE } from "./exchange.ts";
import type { HostPort } from "./host-port.ts";
import { type MalformedListener, MalformedMessage } from "./malformed-message.ts";
import { OwnMap } from "./own-built-ins.ts";
import type { StartMark } from "./start-mark.ts";
import { toWireError } from "./wire-error.ts";
import type { WireRecord } from "./wire-record.ts";

/** How a {@link Responder} answers. */
export interface ResponderOptions {
  /** Answers a question; its signal aborts when the asker cancels or is gone. */
  readonly answer: (question: WireRecord, signal: CancelSource) => Promise<Partial<Answer>>;
  /** Throws {@link MalformedMessage} for a question that the asker should not have sent; absent = the asker is trusted. */
  readonly check?: (question: WireRecord) => void;
  /** Whether the tensors of an answer are of no further use to the answerer, so that large ones may be handed over. Default false. */
  readonly give?: boolean;
  /** Where each question is marked as begun, for who wants to know when this side is gone. */
  readonly startMark?: StartMark;
  /** Default `soon`. */
  readonly flushing?: Flushing;
  /** Called after each answer was written; a held channel is flushed there. */
  readonly onAnswered?: (channel: Channel) => void;
}

/** The answering end of a line; when the line dies, what was asked on it is aborted, so that it leaves every queue. */
export class Responder {
  readonly #channel: Channel;
  readonly #options: ResponderOptions;
  readonly #running = new OwnMap<number, CancelSource>();

  constructor(port: HostPort, options: ResponderOptions) {
    this.#options = options;
    this.#channel = new Channel(port, (record) => this.#receive(record), options.flushing);
    this.#channel.onClose(() => this.#abortAll());
  }

  /** Calls back with the reason when the asker sent a malformed message; the connection has ended then. */
  onMalformed(listener: MalformedListener): void {
    this.#channel.onMalformed(listener);
  }

  /** Calls back once the connection has ended, from whichever side. */
  onClose(listener: () => void): void {
    this.#channel.onClose(listener);
  }

  /** Ends the line. */
  close(): void {
    this.#channel.close();
  }

  #receive(record: WireRecord): void {
    if (record.kind === CANCEL) {
      this.#running.get(record.id)?.abort();
      return;
    }
    if (this.#running.has(record.id)) throw new MalformedMessage(`it asks request ${record.id} a second time`);
    this.#options.check?.(record);
    void this.#answer(record);
  }

  async #answer(question: WireRecord): Promise<void> {
    const { id } = question;
    this.#options.startMark?.start(id);
    const abort = new CancelSource();
    this.#running.set(id, abort);
    try {
      const answer = await this.#options.answer(question, abort);
      // Nobody waits for what was cancelled, but that it is done is to be known.
      this.#send(id, abort.aborted ? {} : answer);
    } catch (reason) {
      this.#fail(id, reason);
    } finally {
      this.#running.delete(id);
      this.#options.onAnswered?.(this.#channel);
    }
  }

  /** What cannot be written, such as a shape with a rank of 300, is the answerer's fault, never the asker's. */
  #send(id: number, answer: Partial<Answer>): void {
    const { give = false } = this.#options;
    const { meta, tensors } = { meta: undefined, tensors: undefined, ...answer };
    try {
      this.#channel.send({ kind: ANSWER, id, meta, tensors }, { give });
    } catch (reason) {
      throw new ServingError("internal", `The answer cannot be sent: ${publicText(reason)}`, { cause: reason });
    }
  }

  /** Where user code has broken what answers are made with, the asker must not wait for ever: the line ends. */
  #fail(id: number, reason: unknown): void {
    try {
      this.#channel.send({ kind: FAILURE, id, meta: toWireError(reason) });
    } catch {
      this.#channel.abandon();
    }
  }

  #abortAll(): void {
    for (const abort of this.#running.values()) abort.abort();
    this.#running.clear();
  }
}
