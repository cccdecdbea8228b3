import { publicText, ServingError } from "../../errors.ts";
import { CancelSource } from "../async/cancel-source.ts";
import { Channel, type Flushing } from "./channel.ts";
import type { WireRecord } from "./frame.ts";
import type { StartMark } from "./heartbeat.ts";
import { type HostPort, type MalformedListener, MalformedMessage } from "./host-port.ts";
import { PartWindow } from "./part-window.ts";
import { RequestMap } from "./request-map.ts";
import { CANCEL, CREDIT, CROWDED, FAILURE, PART, RESPONSE } from "./rpc-client.ts";
import { toWireError } from "./wire-error.ts";

/** Contents of an answer; all members are required, as in a {@link WireRecord}. */
export type Reply = Pick<WireRecord, "meta" | "tensors">;
const NO_REPLY: Reply = { meta: undefined, tensors: undefined };

/** The way of the parts of one answer. */
interface OpenParts {
  /** Sends a part, of so many bytes; resolves once the client has room for another one. Throws if it cannot be sent. */
  readonly write: (part: Reply, bytes: number) => Promise<void>;
  /** Tells that others wait for a place that the answer holds. */
  readonly crowded: () => void;
  readonly close: () => void;
}

/** Settings of a {@link Responder}. */
export interface ResponderOptions {
  /** Answers a request; its signal aborts when the client cancels or has ended. */
  readonly answer: (request: WireRecord, signal: CancelSource) => Promise<Reply>;
  /**
   * Throws {@link MalformedMessage} for a request that the client should not have sent; absent = the client is trusted.
   */
  readonly check?: (request: WireRecord) => void;
  /**
   * True if the code that answers has no further use for an answer's tensors, so that large ones may be transferred.
   * Default false.
   */
  readonly transfer?: boolean;
  /** Memory in which each request is marked as started, for code that outlives this side. */
  readonly startMark?: StartMark;
  /** Default `soon`. */
  readonly flushing?: Flushing;
  /** Called after each answer was written, to flush a held channel. */
  readonly onAnswered?: (channel: Channel) => void;
}

/**
 * The server end of a connection between threads. When the connection ends, its open
 * requests are aborted, so that they leave every queue.
 */
export class Responder {
  readonly #channel: Channel;
  readonly #options: ResponderOptions;
  readonly #running = new RequestMap<CancelSource>();
  /** Windows of the requests that are answered in parts. */
  readonly #windows = new RequestMap<PartWindow>();

  constructor(port: HostPort, options: ResponderOptions) {
    this.#options = options;
    this.#channel = new Channel(port, (record) => this.#receive(record), options.flushing);
    this.#channel.onClose(() => this.#abortAll());
  }

  /** Calls back with the reason when the client sent a malformed message; the connection has ended then. */
  onMalformed(listener: MalformedListener): void {
    this.#channel.onMalformed(listener);
  }

  /** Calls back once the connection has ended, from either side. */
  onClose(listener: () => void): void {
    this.#channel.onClose(listener);
  }

  /** Opens the way for the parts of a request's answer; `close` it with the answer. */
  openParts(id: number): OpenParts {
    const window = new PartWindow();
    this.#windows.set(id, window);
    return {
      write: async ({ meta, tensors }, bytes) => {
        this.#sendRecord({ kind: PART, id, meta, tensors });
        if (this.#options.flushing === "held") await this.#flushTick();
        await window.sent(bytes);
      },
      crowded: () => {
        this.#sendRecord({ kind: CROWDED, id, meta: undefined, tensors: undefined });
        if (this.#options.flushing === "held") void this.#flushTick();
      },
      close: () => this.#windows.delete(id),
    };
  }

  /** Ends the connection. */
  close(): void {
    this.#channel.close();
  }

  #receive(record: WireRecord): void {
    if (record.kind === CANCEL) {
      this.#running.get(record.id)?.abort();
      return;
    }
    if (record.kind === CREDIT) {
      this.#windows.get(record.id)?.credit(record.meta);
      return;
    }
    if (this.#running.get(record.id) !== undefined)
      throw new MalformedMessage(`it asks request ${record.id} a second time`);
    this.#options.check?.(record);
    void this.#answer(record);
  }

  async #answer(request: WireRecord): Promise<void> {
    const { id } = request;
    this.#options.startMark?.start(id);
    const abort = new CancelSource();
    this.#running.set(id, abort);
    try {
      const answer = await this.#options.answer(request, abort);
      // The client of a cancelled request ignores its answer, but has to know that the request has ended.
      this.#send(id, abort.aborted ? NO_REPLY : answer);
    } catch (reason) {
      this.#fail(id, reason);
    } finally {
      this.#running.delete(id);
      this.#options.onAnswered?.(this.#channel);
    }
  }

  /**
   * Sends an answer. An answer that cannot be written, for example a shape with a rank of 300, is never the client's
   * fault.
   */
  #send(id: number, { meta, tensors }: Reply): void {
    this.#sendRecord({ kind: RESPONSE, id, meta, tensors });
  }

  #sendRecord(record: WireRecord): void {
    const { transfer = false } = this.#options;
    try {
      this.#channel.send(record, { transfer });
    } catch (reason) {
      throw new ServingError("internal", `The answer cannot be sent: ${publicText(reason)}`, { cause: reason });
    }
  }

  /**
   * Sends an error. If user code has broken the functions that answers need, the connection ends, so that the client
   * does not wait for ever.
   */
  #fail(id: number, reason: unknown): void {
    try {
      this.#channel.send({ kind: FAILURE, id, meta: toWireError(reason), tensors: undefined });
    } catch {
      this.#channel.abandon();
    }
  }

  /** Posts the held parts with all else of this tick, before the code that makes the next part may block the thread. */
  async #flushTick(): Promise<void> {
    await new Promise<void>((resolve) => process.nextTick(resolve));
    this.#channel.flush();
  }

  #abortAll(): void {
    this.#running.takeAll((abort) => abort.abort());
  }
}
