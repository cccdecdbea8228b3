import { createDeferred, type Deferred } from "../platform/async/promises.ts";
import { TRANSPORT_LIMITS } from "../platform/limits/transport-limits.ts";
import { cutText } from "../platform/text/cut-text.ts";
import { type ToldFailure, toErrorAnswer } from "./http-errors.ts";
import type { HttpExchange } from "./http-exchange.ts";
import type { HttpAnswer } from "./http-route.ts";
import { type PartChoice, type PartForm, rawForm } from "./part-form.ts";
import { heldBytes } from "./send-answer.ts";

/** An answer or a part of one, as far as it concerns the sending of parts. */
interface Parted {
  /** Present = it is the end of so many parts. */
  readonly parts?: number | undefined;
}

/** A request whose answer may come in parts. */
export interface PartedRequest<Answer extends Parted> {
  /**
   * Runs it. Each part is passed to `write`, which resolves once there is room for the next one, and rejects when none
   * is wanted any more. Resolves with the end, or with the only answer.
   */
  readonly run: (write: (part: Answer) => Promise<void>) => Promise<Answer>;
  /**
   * A part as an answer, whose body is JSON on one line, or a raw part; the status and the headers of the
   * first one are sent.
   */
  readonly toPart: (part: Answer) => Promise<HttpAnswer>;
  /** The only answer, for a client to which that is as welcome as parts; absent = it is sent as a part. */
  readonly toAnswer?: (answer: Answer) => HttpAnswer | Promise<HttpAnswer>;
  /** True if an error in place of the first part is told as a part, with the error's status; absent = it is not. */
  readonly tellsError?: () => boolean;
}

const PING_MS = TRANSPORT_LIMITS.eventPingMs;
const NO_BYTES = new Uint8Array(0);
/**
 * No proxy keeps parts until it has many, and no cache keeps an answer that is not whole: the first name is that of
 * nginx, and others heed it.
 */
const HEADERS = [
  ["cache-control", "no-store"],
  ["x-accel-buffering", "no"],
] as const;

/**
 * Answers with the parts of a request's answer, as they are written; an only answer is the only part, unless the client
 * takes it as it is. Resolves with the first part, so that an error before it is answered as any other, unless the
 * request tells errors; a later one is the last part, `{"error": MESSAGE, "code": CODE}`, in a form that has errors.
 * In a form with pings, an answer that takes longer than 15 s for its first part begins with one, if it is sure to have
 * parts.
 */
export async function answerInParts<Answer extends Parted>(
  { form, orAnswer = false }: PartChoice,
  exchange: HttpExchange,
  { run, toPart, toAnswer, tellsError }: PartedRequest<Answer>,
): Promise<HttpAnswer> {
  const parts = new PartQueue();
  const wholeOf = orAnswer ? toAnswer : undefined;
  exchange.answersInParts();
  const write = async (part: Answer) => parts.write(await toPart(part));
  const finish = async (answer: Answer): Promise<HttpAnswer | undefined> => {
    if (answer.parts !== undefined) return undefined;
    if (wholeOf !== undefined) return wholeOf(answer);
    await write(answer);
    return undefined;
  };
  run(write)
    .then(finish)
    .then(
      (whole) => parts.end(whole),
      (reason) => parts.fail(reason),
    );
  try {
    await parts.begun(wholeOf === undefined ? form?.ping && PING_MS : undefined);
  } catch (reason) {
    if (form === undefined || tellsError?.() !== true) throw reason;
    const { status, headers } = toErrorAnswer(reason);
    const ownHeaders = [...HEADERS, ...Object.entries(headers).map(([name, value]) => [name, String(value)] as const)];
    return { ...inForm(form, parts, exchange), status, ownHeaders };
  }
  return parts.whole ?? inForm(form ?? rawForm(parts.first?.contentType ?? ""), parts, exchange);
}

function inForm(form: PartForm, parts: PartQueue, exchange: HttpExchange): HttpAnswer {
  const { status = 200, headers = {}, ownHeaders = [] } = parts.first ?? {};
  // A hook that makes the bytes of a body also decides who keeps them.
  const chosen = form.isRaw ? Object.keys(headers).map((name) => name.toLowerCase()) : [];
  return {
    status: form.isRaw ? status : 200,
    contentType: form.contentType,
    body: NO_BYTES,
    headers,
    ownHeaders: [...HEADERS.filter(([name]) => !chosen.includes(name)), ...ownHeaders],
    stream: {
      heldBytes: 0,
      parts: framed(parts, form, exchange),
      inParts: true,
      lastWords: form.hasNoErrors ? undefined : (failure) => errorPart(failure, form),
    },
  };
}

function errorPart(
  failure: ToldFailure,
  { before, after, hasNoCodes, errorForm, errorBefore = before }: PartForm,
): Uint8Array {
  const { message, code } = failure;
  const told = errorForm?.(failure).body ?? { error: cutText(message), code: hasNoCodes ? undefined : code };
  return Buffer.from(`${errorBefore}${JSON.stringify(told)}${after}`);
}

async function* framed(parts: PartQueue, form: PartForm, exchange: HttpExchange): AsyncGenerator<Uint8Array> {
  const { ping } = form;
  let counted = 0;
  let mayPing = true;
  try {
    for (;;) {
      const part = await parts.next(ping && PING_MS);
      if (part === undefined) return;
      if (part === SILENCE) {
        if (mayPing) yield ping as Buffer;
      } else {
        const { body, stream } = part;
        const bytes = exchange.beyondPart(heldBytes(part));
        exchange.hold(bytes - counted);
        counted = bytes;
        mayPing = !form.isRaw || endsEvent(body);
        yield* stream === undefined ? frame(body, form) : framePieces(body, stream.parts, form);
      }
    }
  } catch (reason) {
    if (!mayPing) yield Buffer.from(form.after);
    throw reason;
  } finally {
    parts.close();
  }
}

/** One that fails ends there, so that the error which follows is a part of its own. */
async function* framePieces(
  head: Uint8Array,
  pieces: AsyncIterable<Uint8Array>,
  { before, after }: PartForm,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(before);
  yield head;
  try {
    yield* pieces;
  } catch (reason) {
    yield Buffer.from(after);
    throw reason;
  }
  yield Buffer.from(after);
}

/** Size from which a part is not copied into one piece with its frame, in bytes. */
const LARGE_BYTES = 64 * 1024;

function frame(json: Uint8Array, { before, after, isRaw }: PartForm): readonly Uint8Array[] {
  if (isRaw) return [json];
  if (json.length > LARGE_BYTES) return [Buffer.from(before), json, Buffer.from(after)];
  const framed = Buffer.allocUnsafe(before.length + json.length + after.length);
  framed.write(before, "latin1");
  framed.set(json, before.length);
  framed.write(after, before.length + json.length, "latin1");
  return [framed];
}

/** A hook may yield an event in pieces, between which nothing may be put. */
function endsEvent(bytes: Uint8Array): boolean {
  return /\n\r?\n$/.test(Buffer.from(bytes.subarray(-3)).toString("latin1"));
}

const SILENCE = "silence";
/** Shared by all, to avoid a stack trace for each. */
const OVER = new DOMException("The answer is over.", "AbortError");

/** Parts between what makes them and what sends them, of which one waits at most. */
class PartQueue {
  /** The first part; undefined before it. */
  first: HttpAnswer | undefined;
  /** The answer that came in place of parts. */
  whole: HttpAnswer | undefined;
  #waiting: HttpAnswer | undefined;
  /** Settles the promise of the part that was written last. */
  #written: Deferred<void> | undefined;
  #wake = () => {};
  #isOver = false;
  #failure: { readonly reason: unknown } | undefined;

  write(part: HttpAnswer): Promise<void> {
    if (this.#isOver) return Promise.reject(OVER);
    this.first ??= part;
    this.#waiting = part;
    this.#written = createDeferred<void>();
    this.#wake();
    return this.#written.promise;
  }

  /** To be called once all parts have been written, or with an answer in their place. */
  end(whole?: HttpAnswer): void {
    this.whole = whole;
    this.#isOver = true;
    this.#wake();
  }

  /** To be called in place of {@link end} if there was an error. */
  fail(reason: unknown): void {
    this.#failure = { reason };
    this.end();
  }

  /** Refuses parts from now on: none is read. */
  close(): void {
    this.#isOver = true;
    this.#written?.reject(OVER);
  }

  /** Resolves with the first part, the end or the limit; rejects with an error in their place. */
  async begun(limitMs: number | undefined): Promise<void> {
    if (this.#isQuiet) await this.#change(limitMs);
    if (this.first === undefined && this.#failure !== undefined) throw this.#failure.reason;
  }

  /**
   * The next part, once that before has been sent; {@link SILENCE} if none comes in time, undefined at the end. Rejects
   * with an error in its place.
   */
  async next(limitMs: number | undefined): Promise<HttpAnswer | typeof SILENCE | undefined> {
    if (this.#waiting === undefined) this.#written?.resolve();
    if (this.#isQuiet) await this.#change(limitMs);
    if (this.#isQuiet) return SILENCE;
    const part = this.#waiting;
    this.#waiting = undefined;
    if (part === undefined && this.#failure !== undefined) throw this.#failure.reason;
    return part;
  }

  get #isQuiet(): boolean {
    return this.#waiting === undefined && !this.#isOver;
  }

  #change(limitMs: number | undefined): Promise<void> {
    return new Promise((resolve) => {
      const timer = limitMs === undefined ? undefined : setTimeout(resolve, limitMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
