import { ServingError } from "../errors.ts";
import { checkResponse } from "../hooks/check-response.ts";
import { isGenerator } from "../hooks/generator-hooks.ts";
import type { HookSet } from "../hooks/hook-set.ts";
import type { HookContext, PartsHook } from "../hooks/hooks.ts";
import { callHook, describeValue, isNamedValues } from "../hooks/run-hook.ts";
import { notOneAnswer } from "../one-answer.ts";
import { type CancelSource, followSignal, unlessAborted } from "../platform/async/cancel-source.ts";
import { createDeferred } from "../platform/async/promises.ts";
import type { CallLimits } from "../platform/limits/call-limits.ts";
import type { MemoryShare } from "../platform/limits/memory/memory-share.ts";
import { threadMemory } from "../platform/limits/memory/thread-memory.ts";
import { StreamTurns } from "../platform/limits/stream-turns.ts";
import { copyTensors } from "../tensor/packed-tensor.ts";
import type { Values } from "../tensor/plain-value.ts";
import {
  endOfParts,
  type InferRequest,
  type InferResponse,
  type PartSink,
  type ServedVersion,
  toAnswer,
} from "./infer-request.ts";
import { sealTensors } from "./json-jobs.ts";
import { copyPayload, openPayload, payloadBytes } from "./payload.ts";
import { type Step, sealJsonOutputs, sealOutputs } from "./seal-outputs.ts";
import type { Stages, TakeStep } from "./stages.ts";

/** Parts that `collect` gets at most: its hooks hold all of them at the same time. */
const MAX_COLLECTED = 65_536;

/** Settings and services of a pipeline that answers in parts. */
interface PartedParts {
  readonly served: ServedVersion;
  readonly stages: Stages;
  /** Absent = its models answer in parts, and there are no hooks. */
  readonly hooks: HookSet | undefined;
  /** As of a pipeline's hooks. */
  readonly hookTimeoutMs?: number | undefined;
}

/** A request, and what its hooks share. */
interface PartedRequest {
  readonly request: InferRequest;
  readonly ctx: HookContext | undefined;
}

/** Makes what the stages of a request need of it, which has a signal of its own then. */
type OpenRequest = (own: InferRequest) => { readonly inputs: Values; readonly ctx: HookContext | undefined };

/** Answers the requests of a pipeline whose hooks, or models, answer in parts. */
export class PartedAnswers {
  readonly #parts: PartedParts;
  /** The ends of those under way, by the source of their signal. */
  readonly #running = new Map<CancelSource, Promise<void>>();
  /** The ends of generators that were left. */
  readonly #leaving = new Set<Promise<void>>();
  #isClosed = false;

  constructor(parts: PartedParts) {
    this.#parts = parts;
  }

  /**
   * Writes the parts to the request's sink; without one, resolves with the only part, or all of them joined. `end` is
   * called at the end of what `open` has begun, at the latest.
   */
  run(request: InferRequest, open: OpenRequest, end?: () => void): Promise<InferResponse> {
    const answer = (own: InferRequest, begin: () => void) => {
      begin();
      const { inputs, ctx } = open(own);
      return this.#answer(inputs, { request: own, ctx });
    };
    return this.runOwn(request, answer, end);
  }

  /**
   * Runs a request with its own signal. `begin` is to be called once it is known to be answered in parts, which could
   * go on for ever: it ends with the hooks then.
   */
  async runOwn(
    request: InferRequest,
    answer: (own: InferRequest, begin: () => void) => Promise<InferResponse>,
    end = () => {},
  ): Promise<InferResponse> {
    const { signal } = request.call;
    signal.throwIfAborted();
    const { source, leave } = followSignal(signal);
    const ended = createDeferred<void>();
    const begin = () => {
      if (this.#isClosed) throw this.#closed();
      this.#running.set(source, ended.promise);
    };
    try {
      return await answer({ ...request, call: { ...request.call, signal: source } }, begin);
    } finally {
      leave();
      this.#running.delete(source);
      ended.resolve();
      end();
    }
  }

  /** Counts the end of a generator that was left among what {@link close} waits for. */
  readonly track = (ended: Promise<void>): void => {
    const tracked = ended.finally(() => this.#leaving.delete(tracked));
    this.#leaving.add(tracked);
  };

  /** Ends the requests under way; resolves once their generators have ended, or have had their time. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const ended = [...this.#running.values()];
    for (const source of this.#running.keys()) source.abort(this.#closed());
    await Promise.all(ended);
    while (this.#leaving.size > 0) await Promise.all(this.#leaving);
  }

  #answer(inputs: Values, { request, ctx }: PartedRequest): Promise<InferResponse> {
    const { hooks } = this.#parts;
    if (request.parts !== undefined) return this.#writeTo(request.parts, inputs, { request, ctx });
    if (hooks?.collect !== undefined && ctx !== undefined) return this.#joined(hooks.collect, inputs, { request, ctx });
    return this.#only(inputs, { request, ctx });
  }

  async #only(inputs: Values, parted: PartedRequest): Promise<InferResponse> {
    const only = new OnlyPart(this.#parts.served);
    await this.#writeTo(only, inputs, parted);
    return only.answer;
  }

  /** Resolves with the end. */
  async #writeTo(sink: PartSink, inputs: Values, parted: PartedRequest): Promise<InferResponse> {
    let count = 0;
    const { signal } = parted.request.call;
    await this.#each(inputs, parted, async (step) => {
      const part = await this.#seal(step, parted, { isFirst: count++ === 0, isPart: true });
      await unlessAborted(sink.write(part), signal);
    });
    return endOfParts(this.#parts.served, parted.request, count);
  }

  /** Headers that hooks set go with the first part. Where hooks join the parts, only that is what they declare. */
  async #seal(
    step: Step,
    { request, ctx }: PartedRequest,
    { isFirst, isPart }: { readonly isFirst: boolean; readonly isPart: boolean },
  ): Promise<InferResponse> {
    const { outputs: declared, collect } = this.#parts.hooks ?? {};
    const hooks = ctx && { outputs: isPart && collect !== undefined ? undefined : declared, isPart };
    const sealJson = () =>
      hooks === undefined ? sealTensors(step, request) : sealJsonOutputs(step, hooks, request.call.signal);
    const outputs = request.inputs.kind === "json" ? await sealJson() : sealOutputs(step, request, hooks);
    return toAnswer(this.#parts.served, request, { outputs, ...(isFirst && ctx && checkResponse(ctx.response)) });
  }

  async #joined(
    collect: NonNullable<HookSet["collect"]>,
    inputs: Values,
    parted: PartedRequest & { readonly ctx: HookContext },
  ): Promise<InferResponse> {
    const { request, ctx } = parted;
    const parts: Values[] = [];
    const memory = new JoinedMemory(request.call.memory);
    try {
      await this.#each(inputs, parted, async (step) => {
        if (parts.length === MAX_COLLECTED) throw tooMany();
        const sealed = sealOutputs(step, { inputs: request.inputs }, {});
        memory.grow(payloadBytes(sealed));
        parts.push(sealed.kind === "json" ? openPayload(sealed) : copyTensors(sealed.tensors));
      });
      const options = { ctx, timeoutMs: this.#parts.hookTimeoutMs };
      const values = await callHook(() => collect(parts, ctx), "collect", options);
      if (!isNamedValues(values)) {
        const came = describeValue(values);
        throw new ServingError("internal", `The hook collect returned ${came}; expected an object of values by name.`);
      }
      return await this.#seal({ values, giver: "The hook collect" }, parted, { isFirst: true, isPart: false });
    } finally {
      memory.release();
    }
  }

  #each(inputs: Values, parted: PartedRequest, take: TakeStep): Promise<void> {
    const { stages, hooks } = this.#parts;
    const { ctx } = parted;
    const run = { take: inTurns(take, parted.request.call.limits), onLeft: this.track, ...parted };
    return ctx !== undefined && isGenerator(hooks?.process)
      ? stages.runProcessParts(hooks.process as PartsHook, inputs, { ...run, ctx })
      : stages.runParts(inputs, run);
  }

  #closed(): ServingError {
    const what = this.#parts.hooks === undefined ? "model was" : "hooks were";
    return new ServingError(
      "unavailable",
      `The ${what} closed while the answer was under way; send the request again.`,
    );
  }
}

/** Takes the parts of an answer in turns with those of others. */
export function inTurns<Part>(
  take: (part: Part) => Promise<void>,
  limits: CallLimits | undefined,
): (part: Part) => Promise<void> {
  const turns = new StreamTurns(limits?.client);
  return async (part) => {
    await take(part);
    const turn = turns.next();
    if (turn !== undefined) await turn;
  };
}

function tooMany(): ServingError {
  const message = `The hooks gave more than ${MAX_COLLECTED} parts to collect; call the model by a route that streams.`;
  return new ServingError("resource_exhausted", message);
}

/** Memory of the parts that are joined: the request's, or in a thread that does not have that, the thread's own. */
class JoinedMemory {
  readonly #share: Pick<MemoryShare, "grow"> | undefined;
  #ownBytes = 0;

  constructor(share: Pick<MemoryShare, "grow"> | undefined) {
    this.#share = share;
  }

  /** Throws `unavailable` if there is no room. */
  grow(bytes: number): void {
    if (this.#share !== undefined) {
      this.#share.grow(bytes);
      return;
    }
    if (!threadMemory.hasRoom(bytes)) throw noRoom();
    threadMemory.add(bytes);
    this.#ownBytes += bytes;
  }

  /** Ends its count; that of a request ends with it. */
  release(): void {
    threadMemory.add(-this.#ownBytes);
    this.#ownBytes = 0;
  }
}

function noRoom(): ServingError {
  const { heldBytes, requestBytes, limitBytes } = threadMemory;
  return new ServingError(
    "unavailable",
    `There is no memory to join the parts of the answer: what is under way holds ${heldBytes + requestBytes} bytes (--max-queue-bytes ${limitBytes}); try again later, or call the model by a route that streams.`,
  );
}

/** Takes the only part of an answer, for a wire that carries one. */
class OnlyPart implements PartSink {
  readonly #served: ServedVersion;
  #answer: InferResponse | undefined;

  constructor(served: ServedVersion) {
    this.#served = served;
  }

  /** Throws if there was none. */
  get answer(): InferResponse {
    if (this.#answer === undefined) throw notOneAnswer(this.#served.model, 0);
    return this.#answer;
  }

  async write(part: InferResponse): Promise<void> {
    if (this.#answer !== undefined) throw notOneAnswer(this.#served.model, 2);
    this.#answer = { ...part, outputs: copyPayload(part.outputs) };
  }
}
