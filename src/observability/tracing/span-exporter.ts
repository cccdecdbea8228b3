import { Agent as HttpAgent, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { gzipSync } from "node:zlib";
import { reasonText, systemCode } from "../../errors.ts";
import { Backoff } from "../../platform/async/backoff.ts";
import { settlesWithin } from "../../platform/async/promises.ts";
import { sendHttp } from "../../storage/http/http-request.ts";
import { bytesTag, tagOf, WIRE, WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";
import { readVersion } from "../../version.ts";
import type { Logger } from "../logger.ts";
import type { TracingSettings } from "./settings.ts";
import { encodeSpans, type Span } from "./span-message.ts";

/** Waits before a collector that does not answer is tried again. */
const RETRY = { firstMs: 1000, maxMs: 60_000 };
/** Longest wait that a collector may ask for. */
const MAX_RETRY_MS = 600_000;
const LOST = "spans of traces are lost";
/** Milliseconds between two lines about spans that are lost. */
const LOG_MS = 60_000;
/** Milliseconds that the last spans have to leave when the server ends. */
const FLUSH_MS = 3000;
const USER_AGENT = `kserving/${readVersion()}`;
/** Answers of a collector that may take the same message later. */
const RETRIED: readonly number[] = [429, 502, 503, 504];

/**
 * Sends spans to a collector of OpenTelemetry, some time after they have ended. A collector that is away costs no
 * request anything: beyond a number, spans are lost.
 */
export class SpanExporter {
  readonly #settings: TracingSettings;
  readonly #log: Logger;
  readonly #agent: HttpAgent;
  readonly #backoff = new Backoff(RETRY);
  #waiting: Span[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #lostCount = 0;
  #problem = "they come faster than they can be sent";
  #quietUntil = 0;
  /** Milliseconds for which the collector asked to be left alone. */
  #retryMs: number | undefined;
  /** True while a full message is about to be sent: the timer is not to start again with each request. */
  #isDue = false;
  /** True while a collector that did not answer is left alone. */
  #isRetrying = false;
  #isClosed = false;
  /** True if the last spans have not left in time. */
  #isOver = false;
  /** Ends the request that is under way. */
  #stop = new AbortController();

  constructor(settings: TracingSettings, log: Logger) {
    this.#settings = settings;
    this.#log = log;
    this.#agent = createAgent(settings);
  }

  /** Takes the spans of a request. */
  add(spans: readonly Span[]): void {
    const { maxQueue } = this.#settings;
    const room = this.#isClosed ? 0 : maxQueue - this.#waiting.length;
    if (spans.length > room) this.#lose(spans.length - Math.max(0, room));
    for (const span of spans.slice(0, Math.max(0, room))) this.#waiting.push(span);
    this.#schedule();
  }

  /** Sends what waits, as far as that goes quickly, and ends the connection. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const flush = this.#flush();
    if (!(await settlesWithin(flush, FLUSH_MS))) this.#giveUp();
    await flush;
    this.#agent.destroy();
    if (this.#lostCount > 0) this.#warn(LOST);
  }

  async #flush(): Promise<void> {
    await this.#sending;
    while (!this.#isOver && this.#waiting.length > 0 && (await this.#send()) === "sent");
    this.#lose(this.#waiting.splice(0).length);
  }

  #giveUp(): void {
    this.#isOver = true;
    this.#stop.abort(lateAfter(FLUSH_MS));
  }

  /** Sends a full message soon, and others after the delay. */
  #schedule(): void {
    const { maxBatch, delayMs } = this.#settings;
    const { length } = this.#waiting;
    if (length === 0 || this.#isClosed || this.#sending !== undefined || this.#isRetrying || this.#isDue) return;
    if (length >= maxBatch) this.#sendSoon(0);
    else if (this.#timer === undefined) this.#sendSoon(delayMs);
  }

  #sendSoon(afterMs: number): void {
    clearTimeout(this.#timer);
    this.#isDue = afterMs === 0;
    this.#timer = setTimeout(() => {
      const { length } = this.#waiting;
      const { maxBatch } = this.#settings;
      const count = this.#isDue && length > maxBatch ? length - (length % maxBatch) : length;
      this.#timer = undefined;
      this.#isDue = false;
      this.#isRetrying = false;
      this.#sending = this.#sendAll(count).finally(() => {
        this.#sending = undefined;
        this.#schedule();
      });
    }, afterMs).unref();
  }

  /** Sends so many spans: what comes meanwhile is gathered again. */
  async #sendAll(count: number): Promise<void> {
    for (let left = count; left > 0; left -= this.#settings.maxBatch) {
      if ((await this.#send()) === "sent") continue;
      this.#isRetrying = !this.#isClosed;
      if (this.#isRetrying) this.#sendSoon(this.#retryMs ?? jittered(this.#backoff.next()));
      return;
    }
  }

  /** Sends a batch; one that may be taken later waits again. Never rejects. */
  async #send(): Promise<"sent" | "failed"> {
    const batch = this.#waiting.splice(0, this.#settings.maxBatch);
    this.#retryMs = undefined;
    try {
      const { status, retryMs, rejected, reason } = await this.#post(encodeSpans(batch, this.#settings.resource));
      const said = reason === "" ? "" : `: ${reason}`;
      if (RETRIED.includes(status)) {
        this.#retryMs = retryMs === undefined ? undefined : Math.min(Math.max(RETRY.firstMs, retryMs), MAX_RETRY_MS);
        return this.#keep(batch, `the collector answers ${status}${said}`);
      }
      if (status >= 300) this.#lose(batch.length, `the collector answers ${status}${said}`);
      else this.#lose(Math.min(rejected, batch.length), `the collector rejects them${said}`);
      this.#backoff.reset();
      return "sent";
    } catch (reason) {
      return this.#keep(batch, problemOf(reason));
    }
  }

  #keep(batch: readonly Span[], problem: string): "failed" {
    const room = Math.max(0, this.#settings.maxQueue - this.#waiting.length);
    this.#waiting = [...batch.slice(0, room), ...this.#waiting];
    this.#problem = problem;
    if (this.#quietUntil === 0) this.#warn("no collector takes the traces; they wait for one");
    this.#lose(batch.length - Math.min(room, batch.length), problem);
    return "failed";
  }

  #lose(count: number, problem = this.#problem): void {
    if (count <= 0) return;
    this.#lostCount += count;
    this.#problem = problem;
    if (performance.now() >= this.#quietUntil) this.#warn(LOST);
  }

  #warn(message: string): void {
    const { host } = this.#settings.url;
    this.#log.warn(message, { collector: host, lost: this.#lostCount, why: this.#problem });
    this.#lostCount = 0;
    this.#quietUntil = performance.now() + LOG_MS;
  }

  async #post(message: Buffer): Promise<CollectorAnswer> {
    const { url, headers, timeoutMs, isCompressed } = this.#settings;
    const body = isCompressed ? gzipSync(message) : message;
    const sent = {
      "user-agent": USER_AGENT,
      ...headers,
      "content-type": "application/x-protobuf",
      "content-length": String(body.length),
      ...(isCompressed && { "content-encoding": "gzip" }),
    };
    const stop = new AbortController();
    this.#stop = stop;
    const timer = setTimeout(() => stop.abort(lateAfter(timeoutMs)), timeoutMs);
    const request = { method: "POST", headers: sent, body, agent: this.#agent, signal: stop.signal } as const;
    try {
      return await readCollectorAnswer(await sendHttp(url, request));
    } finally {
      clearTimeout(timer);
    }
  }
}

function lateAfter(ms: number): Error {
  return new Error(`it does not answer within ${ms} ms`);
}

function createAgent({ url, tls }: TracingSettings): HttpAgent {
  const choices = { keepAlive: true, maxSockets: 1 };
  return url.protocol === "http:" ? new HttpAgent(choices) : new HttpsAgent({ ...choices, ...tls });
}

function problemOf(reason: unknown): string {
  const isNoHttp = systemCode(reason).startsWith("HPE_");
  const hint = isNoHttp ? "; port 4317 of a collector speaks gRPC, port 4318 HTTP" : "";
  return `${reasonText(reason)}${hint}`;
}

/** Servers that lost the same collector do not come back to it all at once. */
function jittered(ms: number): number {
  return ms * (0.5 + Math.random() / 2);
}

/** A collector's answer to a message of spans. */
interface CollectorAnswer {
  readonly status: number;
  /** Spans of the message that it does not take, though it takes the others. */
  readonly rejected: number;
  /** Its reason, cut; empty = it gives none. */
  readonly reason: string;
  /** Milliseconds for which it wants to be left alone; undefined = it does not say. */
  readonly retryMs: number | undefined;
}

/** Bytes of an answer that are read: it has a count and a sentence. */
const MAX_BYTES = 64 * 1024;
/** Characters of a reason. */
const MAX_REASON = 200;
/** Field of OpenTelemetry's ExportTraceServiceResponse with an ExportTracePartialSuccess. */
const PARTIAL_SUCCESS = 1;
/** Fields of ExportTracePartialSuccess: a number of spans, a text. Those of google.rpc.Status have the same types. */
const FIELDS = { count: 1, text: 2 } as const;

/** Reads an answer, whose status counts even if its body does not end or cannot be read. Never rejects. */
async function readCollectorAnswer(response: IncomingMessage): Promise<CollectorAnswer> {
  const { statusCode: status = 0, headers } = response;
  const retryMs = readRetryAfter(headers["retry-after"]);
  const body = await readBody(response);
  const isMessage = headers["content-type"]?.startsWith("application/x-protobuf") === true;
  const isText = headers["content-type"]?.startsWith("text/plain") === true;
  const { count, text } = isMessage ? readMessage(body, status < 300) : { count: 0, text: isText ? String(body) : "" };
  const reason = text.trim().slice(0, MAX_REASON);
  return { status, retryMs, reason, rejected: status < 300 ? count : 0 };
}

/** The body, or its beginning. */
async function readBody(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let left = MAX_BYTES;
  try {
    for await (const chunk of response) {
      chunks.push(chunk);
      left -= chunk.length;
      if (left < 0) break;
    }
  } catch {
    // The connection ended, or its time.
  }
  return Buffer.concat(chunks).subarray(0, MAX_BYTES);
}

function readMessage(bytes: Uint8Array, isResponse: boolean): { count: number; text: string } {
  const found = { count: 0, text: "" };
  try {
    const reader = new WireReader(bytes, "answer of a collector");
    if (!isResponse) readFields(reader, found);
    else
      while (reader.hasMore()) {
        const tag = reader.tag();
        if (tag === bytesTag(PARTIAL_SUCCESS)) readFields(reader.nested("partial success"), found);
        else reader.skip(tag);
      }
  } catch {
    // What was read until then.
  }
  return found;
}

function readFields(reader: WireReader, found: { count: number; text: string }): void {
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === tagOf(FIELDS.count, WIRE.varint)) found.count = reader.integer();
    else if (tag === bytesTag(FIELDS.text)) found.text = reader.text();
    else reader.skip(tag);
  }
}

/** Seconds, or a time of day. */
function readRetryAfter(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return ms >= 0 ? ms : undefined;
}
