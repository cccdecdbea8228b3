import { ServingError } from "../errors.ts";
import { checkResponse } from "../hooks/check-response.ts";
import type { HookSet } from "../hooks/hook-set.ts";
import type { HookContext } from "../hooks/hooks.ts";
import type { RawResult, RawStream } from "../hooks/raw-entry.ts";
import { leaveUnbegun, PartSealer } from "../hooks/raw-parts.ts";
import { callHook, eachPart, type Measure, type PartsRun } from "../hooks/run-hook.ts";
import { notOneAnswer } from "../one-answer.ts";
import { unlessAborted } from "../platform/async/cancel-source.ts";
import { TRANSPORT_LIMITS } from "../platform/limits/transport-limits.ts";
import { isEventStream } from "../platform/net/message-headers.ts";
import { createTensor, createTensors, type Tensors } from "../tensor/tensor.ts";
import type { OpenStreams } from "./bound-stage.ts";
import { type HookClock, PartsTimer, type TimedHook } from "./hook-times.ts";
import {
  endOfParts,
  type InferRequest,
  type InferResponse,
  type PartSink,
  RAW_BODY,
  type RawHead,
  type ServedVersion,
  toAnswer,
} from "./infer-request.ts";
import { inTurns, type PartedAnswers } from "./parted-answers.ts";
import type { Payload } from "./payload.ts";

/** The hooks of a pipeline, and a context for the request. */
interface RawParts {
  readonly served: ServedVersion;
  readonly hooks?: HookSet;
  readonly parted: PartedAnswers | undefined;
  readonly hookTimeoutMs?: number;
  readonly clock?: HookClock;
  readonly open: (own: InferRequest) => { readonly ctx: HookContext; readonly streams: Pick<OpenStreams, "leave"> };
}

/**
 * Calls the function of the hook file that a request names; throws `not_found` if the file has none. A body in parts
 * goes to the request's sink. Its time counts as that of `process`.
 */
export async function runRaw(
  { entry: name, facts }: RawHead,
  asked: InferRequest,
  parts: RawParts,
): Promise<InferResponse> {
  const { served, hooks, parted, hookTimeoutMs: timeoutMs = 0, clock, open } = parts;
  const entry = hooks?.entries?.get(name);
  if (entry === undefined || parted === undefined) {
    const message = `Version ${served.version} of the model ${served.model} does not answer ${name}.`;
    throw new ServingError("not_found", message);
  }
  return parted.runOwn(asked, (own, begin) => {
    const { ctx, streams } = open(own);
    const { inputs, call } = own;
    const request = { facts, headers: call.metadata, body: bodyOf(inputs) };
    let unbegun: unknown;
    let isOver = false;
    const callEntry = async () => {
      unbegun = await entry.call(request, ctx);
      // The request does not wait for a hook that takes too long.
      if (isOver) leaveUnbegun(unbegun);
      return unbegun;
    };
    const ask = async () => entry.seal(await callHook(callEntry, entry.place, { ctx, timeoutMs }));
    return timeRaw({ kind: "process", stage: 0, call, clock }, ask, async (made, measure) => {
      if (!("open" in made)) return toRawAnswer(own, ctx, { served, ...made });
      begin();
      const run = { ctx, signal: call.signal, timeoutMs, onLeft: parted.track, measure };
      const beginBody = () => {
        unbegun = undefined;
        return made.open();
      };
      return new RawBody(own, ctx, { served, place: entry.place, ...made, open: beginBody }).send(run);
    }).finally(() => {
      isOver = true;
      leaveUnbegun(unbegun);
      streams.leave();
      hooks?.release?.(ctx);
    });
  });
}

/** Measures what a function does itself, for its answer and for the parts of a body that it has made. */
async function timeRaw<Made, Answer>(
  hook: TimedHook,
  ask: () => Promise<Made>,
  answer: (made: Made, measure: Measure) => Promise<Answer>,
): Promise<Answer> {
  const timer = new PartsTimer(hook);
  const measure = { begin: () => timer.begin(), end: () => timer.end() };
  let reason: unknown;
  try {
    return await answer(await measured(ask, measure), measure);
  } catch (thrown) {
    reason = thrown;
    throw thrown;
  } finally {
    timer.over(reason);
  }
}

async function measured<Made>(ask: () => Promise<Made>, measure: Measure): Promise<Made> {
  measure.begin();
  try {
    return await ask();
  } finally {
    measure.end();
  }
}

function toRawAnswer(
  request: InferRequest,
  ctx: HookContext,
  { served, status, contentType, body }: RawResult & Pick<RawParts, "served">,
): InferResponse {
  const { metadata } = checkResponse(ctx.response);
  return toAnswer(served, request, { outputs: rawPayload(body), metadata, contentType, status });
}

/** A body in parts, and the hook that makes it. */
interface MadeBody extends RawStream, Pick<RawParts, "served"> {
  readonly place: string;
}

/** Sends a body in parts, of which the first one has status, media type and headers. */
class RawBody {
  readonly #request: InferRequest;
  readonly #ctx: HookContext;
  readonly #made: MadeBody;
  readonly #sealer: PartSealer;
  #count = 0;

  constructor(request: InferRequest, ctx: HookContext, made: MadeBody) {
    this.#request = request;
    this.#ctx = ctx;
    this.#made = made;
    this.#sealer = new PartSealer(made.place, made.contentType);
  }

  /** Resolves with the end, or with a whole answer for a body without parts. */
  async send(run: Pick<PartsRun, "ctx" | "signal" | "timeoutMs" | "onLeft" | "measure">): Promise<InferResponse> {
    const { place, open, served, contentType } = this.#made;
    const { parts, call } = this.#request;
    if (parts === undefined) throw notOneAnswer(served.model, 2);
    let silence = Promise.resolve();
    // A client of events must not give one up that takes long for the first of them.
    const timer = isEventStream(contentType ?? "")
      ? setTimeout(() => {
          silence = this.#write(parts, this.#sealer.seal({ comment: "ping" }, 0));
          silence.catch(() => {});
        }, TRANSPORT_LIMITS.eventPingMs)
      : undefined;
    const take = inTurns(async (part: Uint8Array) => {
      clearTimeout(timer);
      await silence;
      await unlessAborted(this.#write(parts, part), call.signal);
    }, call.limits);
    try {
      await eachPart({ place, open, take, toPart: (value, number) => this.#sealer.seal(value, number), ...run });
    } finally {
      clearTimeout(timer);
    }
    await silence;
    if (this.#count > 0) return endOfParts(served, this.#request, this.#count);
    return this.#head(NO_BYTES);
  }

  async #write(parts: PartSink, bytes: Uint8Array): Promise<void> {
    const { served } = this.#made;
    const isFirst = this.#count++ === 0;
    await parts.write(isFirst ? this.#head(bytes) : toAnswer(served, this.#request, { outputs: rawPayload(bytes) }));
  }

  #head(body: Uint8Array): InferResponse {
    const { served, status } = this.#made;
    return toRawAnswer(this.#request, this.#ctx, { served, status, contentType: this.#sealer.contentType, body });
  }
}

const NO_BYTES = new Uint8Array(0);

/** A body as a payload. */
export function rawPayload(body: Uint8Array): Payload & { readonly kind: "tensors" } {
  // Not a Buffer, which would be one on the other side of a thread only.
  const bytes = new Uint8Array(body.buffer as ArrayBuffer, body.byteOffset, body.byteLength);
  return { kind: "tensors", tensors: createTensors([[RAW_BODY, createTensor("uint8", [bytes.length], bytes)]]) };
}

function bodyOf(payload: Payload): Buffer {
  const { data } = (payload as { readonly tensors: Tensors }).tensors[RAW_BODY] ?? {};
  const bytes = data as Uint8Array;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
