import { Channel, type Flushing } from "./channel.ts";
import { ANSWER, type Answer, CANCEL, FAILURE } from "./exchange.ts";
import type { HostPort } from "./host-port.ts";
import type { Record } from "./record.ts";
import { toWireError } from "./wire-error.ts";

/** How a {@link Responder} answers. */
export interface ResponderOptions {
  /** Answers a question; its signal aborts when the asker cancels or is gone. */
  readonly answer: (question: Record, signal: AbortSignal) => Promise<Partial<Answer>>;
  /** Whether the tensors of an answer are of no further use to the answerer, so that large ones may be handed over. Default false. */
  readonly give?: boolean;
  /** Default `soon`. */
  readonly flushing?: Flushing;
  /** Called after each answer was written; a held channel is flushed there. */
  readonly onAnswered?: (channel: Channel) => void;
}

/** The answering end of a line; when the line dies, what was asked on it is aborted, so that it leaves every queue. */
export class Responder {
  readonly #channel: Channel;
  readonly #options: ResponderOptions;
  readonly #running = new Map<number, AbortController>();

  constructor(port: HostPort, options: ResponderOptions) {
    this.#options = options;
    this.#channel = new Channel(port, (record) => this.#receive(record), options.flushing);
    this.#channel.onClose(() => this.#abortAll());
  }

  /** Ends the line. */
  close(): void {
    this.#channel.close();
  }

  #receive(record: Record): void {
    if (record.kind === CANCEL) {
      this.#running.get(record.id)?.abort();
      return;
    }
    void this.#answer(record);
  }

  async #answer(question: Record): Promise<void> {
    const { id } = question;
    const abort = new AbortController();
    this.#running.set(id, abort);
    try {
      const { meta, tensors } = await this.#options.answer(question, abort.signal);
      // Nobody waits for what was cancelled, but that it is done is to be known.
      if (abort.signal.aborted) this.#channel.send({ kind: ANSWER, id });
      else
        this.#channel.send(
          { kind: ANSWER, id, meta, ...(tensors && { tensors }) },
          { give: this.#options.give ?? false },
        );
    } catch (reason) {
      this.#channel.send({ kind: FAILURE, id, meta: toWireError(reason) });
    } finally {
      this.#running.delete(id);
      this.#options.onAnswered?.(this.#channel);
    }
  }

  #abortAll(): void {
    for (const abort of this.#running.values()) abort.abort();
    this.#running.clear();
  }
}
