import { readFileSync } from "node:fs";
import { Agent as HttpAgent, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { gzipSync } from "node:zlib";
import { Backoff } from "../async/backoff.ts";
import { settlesWithin } from "../async/settles-within.ts";
import { reasonText } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import type { TracingSettings } from "./settings.ts";
import type { Span } from "./span.ts";
import { encodeSpans } from "./span-message.ts";

/** Waits before a collector that does not answer is tried again. */
const RETRY = { firstMs: 1000, maxMs: 60_000 };
/** Milliseconds between two lines about spans that are lost. */
const LOG_MS = 60_000;
/** Milliseconds that the last spans have to leave when the server ends. */
const FLUSH_MS = 3000;
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
  /** True while a collector that did not answer is left alone. */
  #isRetrying = false;
  #isClosed = false;

  constructor(settings: TracingSettings, log: Logger) {
    this.#settings = settings;
    this.#log = log;
    this.#agent = createAgent(settings);
  }

  /** Takes the spans of a request. */
  add(spans: readonly Span[]): void {
    const { maxQueue, maxBatch, delayMs } = this.#settings;
    const room = this.#isClosed ? 0 : maxQueue - this.#waiting.length;
    if (spans.length > room) this.#lose(spans.length - Math.max(0, room));
    for (const span of spans.slice(0, Math.max(0, room))) this.#waiting.push(span);
    if (this.#sending !== undefined || this.#isRetrying) return;
    if (this.#waiting.length >= maxBatch) this.#sendSoon(0);
    else if (this.#timer === undefined) this.#sendSoon(delayMs);
  }

  /** Sends what waits, as far as that goes quickly, and ends the connection. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const flushed = await settlesWithin(this.#flush(), FLUSH_MS);
    this.#agent.destroy();
    if (!flushed) this.#lose(this.#waiting.length);
  }

  async #flush(): Promise<void> {
    await this.#sending;
    while (this.#waiting.length > 0 && (await this.#send()) === "sent");
    this.#lose(this.#waiting.splice(0).length);
  }

  #sendSoon(afterMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#isRetrying = false;
      this.#sending = this.#sendAll().finally(() => {
        this.#sending = undefined;
      });
    }, afterMs).unref();
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      if ((await this.#send()) === "sent") continue;
      this.#isRetrying = !this.#isClosed;
      if (this.#isRetrying) this.#sendSoon(this.#backoff.next());
      return;
    }
  }

  /** Sends a batch; one that may be taken later waits again. Never rejects. */
  async #send(): Promise<"sent" | "failed"> {
    const batch = this.#waiting.splice(0, this.#settings.maxBatch);
    try {
      const status = await this.#post(encodeSpans(batch, this.#settings.resource));
      if (RETRIED.includes(status)) return this.#keep(batch, `the collector answers ${status}`);
      if (status >= 300) this.#lose(batch.length, `the collector answers ${status}`);
      this.#backoff.reset();
      return "sent";
    } catch (reason) {
      return this.#keep(batch, reasonText(reason));
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
    if (performance.now() >= this.#quietUntil) this.#warn("spans of traces are lost");
  }

  #warn(message: string): void {
    const { host } = this.#settings.url;
    this.#log.warn(message, { collector: host, lost: this.#lostCount, why: this.#problem });
    this.#lostCount = 0;
    this.#quietUntil = performance.now() + LOG_MS;
  }

  /** Resolves with the status of the answer. */
  #post(message: Buffer): Promise<number> {
    const { url, headers, timeoutMs, isCompressed } = this.#settings;
    const body = isCompressed ? gzipSync(message) : message;
    const sent = {
      ...headers,
      "content-type": "application/x-protobuf",
      "content-length": body.length,
      ...(isCompressed && { "content-encoding": "gzip" }),
    };
    const open = url.protocol === "https:" ? requestHttps : requestHttp;
    const signal = AbortSignal.timeout(timeoutMs);
    return new Promise((resolve, reject) => {
      const request = open(url, { method: "POST", headers: sent, agent: this.#agent, signal }, (response) => {
        response.resume();
        response.once("end", () => resolve(response.statusCode ?? 0));
        response.once("error", reject);
      });
      request.once("error", reject);
      request.end(body);
    });
  }
}

function createAgent({ url, caFile, clientCert, clientKey }: TracingSettings): HttpAgent {
  const choices = { keepAlive: true, maxSockets: 1 };
  if (url.protocol === "http:") return new HttpAgent(choices);
  const read = (file: string | undefined) => (file === undefined ? undefined : readFileSync(file));
  const [ca, cert, key] = [read(caFile), read(clientCert), read(clientKey)];
  return new HttpsAgent({ ...choices, ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) });
}
