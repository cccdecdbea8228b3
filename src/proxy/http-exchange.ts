import type { IncomingMessage, ServerResponse } from "node:http";
import { CancelSource } from "../async/cancel-source.ts";
import { ServingError } from "../errors.ts";
import { DecodeBudget } from "../limits/decode-budget.ts";
import type { MemoryBudget, MemoryShare } from "../limits/memory-budget.ts";
import type { RequestRecord } from "../observability/request-record.ts";
import type { InferRequest } from "../serving/inference-service.ts";
import { BodyBuffers } from "./body-buffers.ts";
import { readBody } from "./read-body.ts";
import { RecordedRequest } from "./recorded-request.ts";

/** What a request is held to. */
interface ExchangeLimits {
  readonly maxMessageBytes: number;
  readonly memory: MemoryBudget;
}

/** Those of all requests to the process. */
const buffers = new BodyBuffers();

/** One HTTP request as handlers see it. */
export class HttpExchange {
  readonly request: IncomingMessage;
  /** What the log tells of it. */
  readonly record: RequestRecord;
  /** What may be made of the body. */
  readonly budget: DecodeBudget;
  readonly #maxMessageBytes: number;
  readonly #memory: MemoryShare;
  readonly #response: ServerResponse;
  readonly #cancel = new CancelSource();
  #isClosed = false;
  /** Whether memory is held for an answer until the response closes. */
  #isSending = false;

  constructor(request: IncomingMessage, response: ServerResponse, limits: ExchangeLimits) {
    const { maxMessageBytes, memory } = limits;
    this.request = request;
    this.record = RecordedRequest.recordOf(request);
    this.budget = new DecodeBudget(maxMessageBytes);
    this.#response = response;
    this.#maxMessageBytes = maxMessageBytes;
    this.#memory = memory.open();
    // Heard once; "once" would only make a closure more.
    response.on("close", () => {
      this.#isClosed = true;
      if (this.#isSending) this.#memory.release();
      if (response.writableFinished) return;
      this.#cancel.abort(new DOMException("The client closed the connection.", "AbortError"));
    });
  }

  /** Media type of the body, lower-case, without parameters; empty if the client does not say. */
  get mediaType(): string {
    const [type = ""] = (this.request.headers["content-type"] ?? "").split(";", 1);
    return type.trim().toLowerCase();
  }

  /** The whole body, inflated; `alignedAt` = where numbers begin that are to be viewed in place. */
  async readBody(alignedAt = 0): Promise<Buffer> {
    const body = await readBody(this.request, { maxBytes: this.#maxMessageBytes, memory: this.#memory, alignedAt });
    this.record.received(body.length);
    return body;
  }

  /** The whole body, inflated, for who gives it to {@link recycle} once it is parsed. */
  async lendBody(): Promise<Buffer> {
    const body = await readBody(this.request, { maxBytes: this.#maxMessageBytes, memory: this.#memory, buffers });
    this.record.received(body.length);
    return body;
  }

  /** Takes back a body of which nobody keeps a view: what it lies in serves for other bodies. */
  recycle(body: Buffer): void {
    buffers.give(body);
  }

  /** Counts an answer of so many bytes in place of what the request held; throws `unavailable` where there is no room. */
  holdAnswer(bytes: number): void {
    this.#memory.setTo(bytes);
  }

  /** Holds on to what is counted until the answer has been sent. */
  beginSending(): void {
    this.#isSending = true;
  }

  /** Gives back what the request held, unless an answer is being sent; to be called at its end, whatever that is. */
  release(): void {
    if (!this.#isSending || this.#isClosed) this.#memory.release();
  }

  /** What every inference call takes from the request itself. */
  callInfo(): Pick<InferRequest, "id" | "metadata" | "signal" | "deadline" | "memory" | "record"> {
    const metadata = toMetadata(this.request);
    const { record } = this;
    const { id } = record;
    const timeoutMs = parseTimeout(metadata[TIMEOUT_HEADER]);
    const signal = this.#cancel;
    const memory = this.#memory;
    if (timeoutMs === undefined) return { id, metadata, signal, memory, record };
    const expire = () => signal.abort(new DOMException("The request's deadline passed.", "TimeoutError"));
    const timer = setTimeout(expire, timeoutMs);
    this.#response.once("close", () => clearTimeout(timer));
    return { id, metadata, signal, memory, record, deadline: Date.now() + timeoutMs };
  }
}

/** How long a client waits, in milliseconds; HTTP has no word of its own for what gRPC calls a deadline. */
const TIMEOUT_HEADER = "x-request-timeout-ms";
/** The longest timer that there is. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

function parseTimeout(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text) && Number(text) <= MAX_TIMEOUT_MS) return Number(text);
  throw new ServingError("invalid_argument", `The header X-Request-Timeout-Ms is "${text}"; expected milliseconds.`);
}

/** The headers as they are: Node joins those that come several times, all but one that no request should have. */
function toMetadata({ headers }: IncomingMessage): Readonly<Record<string, string>> {
  const { "set-cookie": cookies } = headers;
  if (cookies !== undefined) return { ...headers, "set-cookie": cookies.join(", ") } as Record<string, string>;
  return headers as Record<string, string>;
}
