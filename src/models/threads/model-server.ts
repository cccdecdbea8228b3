import { ServingError } from "../../errors.ts";
import { steadyMs } from "../../observability/steady-clock.ts";
import type { Timeline } from "../../observability/timeline.ts";
import type { CancelSignal } from "../../platform/async/cancel-source.ts";
import { packValues, unpackValues } from "../../platform/threads/call-values.ts";
import type { Channel } from "../../platform/threads/channel.ts";
import type { WireRecord } from "../../platform/threads/frame.ts";
import type { HostPort } from "../../platform/threads/host-port.ts";
import { type MethodTree, toMethodTree } from "../../platform/threads/method-tree.ts";
import { type Reply, Responder } from "../../platform/threads/responder.ts";
import { failedAnswer, type TimedAnswer } from "../../platform/threads/timed-answer.ts";
import { type Tensors, tensorBytes } from "../../tensor/tensor.ts";
import type { ModelCall, ModelHandle, ModelParts } from "../model-handle.ts";
import { type RunMark, whileMarked } from "../run-mark.ts";
import { checkModelRequest } from "./check-model-request.ts";
import { type CallMeta, fromSentCall, PREDICT, PREDICT_PARTS, type SentCall, STATISTICS } from "./model-protocol.ts";

/**
 * A reply waits for company if the one before it is at most so old, in milliseconds: posting each alone costs an eighth
 * of a small model's throughput.
 */
const HOLD_MS = 0.15;

/** Answers for one model on any number of connections, which share the model's queue. */
export class ModelServer {
  readonly #model: ModelHandle;
  readonly #mark: RunMark | undefined;
  readonly #tree: MethodTree;
  readonly #due = new Set<Channel>();
  readonly #calls = new Set<Promise<unknown>>();
  #unanswered = 0;
  #dueSince = 0;
  #lastAnswer = 0;
  #timer: NodeJS.Timeout | undefined;
  #isFlushing = false;

  constructor(model: ModelHandle, mark?: RunMark) {
    this.#model = model;
    this.#mark = mark;
    this.#tree = toMethodTree(model.hookArgs);
  }

  /** Values of this model for hooks, with markers for functions; see {@link fromMethodTree}. */
  get hookArgs(): unknown {
    return this.#tree.data;
  }

  /** Answers the requests of a connection until it ends. */
  attach(port: HostPort): Responder {
    const responder: Responder = new Responder(port, {
      check: checkModelRequest,
      flushing: "held",
      transfer: true,
      answer: (request, signal) => {
        this.#unanswered++;
        return request.kind === PREDICT_PARTS
          ? this.#answerInParts(request, signal, responder)
          : this.#answer(request, signal);
      },
      onAnswered: (channel) => this.#answered(channel),
    });
    return responder;
  }

  /** Resolves once no call of a hook is under way; predicts are the model's own business. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#calls);
  }

  async #answer({ kind, meta, tensors = {} }: WireRecord, signal: CancelSignal): Promise<Reply> {
    if (kind === PREDICT) {
      const { defaultSignature } = this.#model;
      return this.#predict(tensors, fromSentCall(meta as SentCall, defaultSignature, signal));
    }
    if (kind === STATISTICS) return { meta: await this.#model.statistics(), tensors: undefined };
    return this.#callMethod(tensors, meta as CallMeta);
  }

  /** Others' replies do not wait for the end of an answer in parts. */
  async #answerInParts(
    { id, meta, tensors = {} }: WireRecord,
    signal: CancelSignal,
    responder: Responder,
  ): Promise<Reply> {
    const { write, crowded, close } = responder.openParts(id);
    const call = fromSentCall(meta as SentCall, this.#model.defaultSignature, signal);
    this.#unanswered--;
    try {
      const parts: ModelParts = {
        write: (part) => write({ meta: undefined, tensors: part }, tensorBytes(part)),
        crowded,
      };
      return await this.#predict(tensors, { ...call, parts });
    } finally {
      this.#unanswered++;
      close();
    }
  }

  async #predict(inputs: Tensors, call: ModelCall): Promise<Reply> {
    if (call.timeline !== undefined) return this.#answerTimed(inputs, call, call.timeline);
    return { meta: undefined, tensors: await this.#model.predict(inputs, call) };
  }

  /** Calls a function that the model gives to hooks. */
  async #callMethod(tensors: Tensors, { method, args }: CallMeta): Promise<Reply> {
    const call = this.#tree.methods.get(method);
    if (call === undefined) throw new ServingError("internal", `The model has no method "${method}".`);
    const running = whileMarked(this.#mark, () => call(...(unpackValues({ json: args, tensors }) as unknown[])));
    this.#calls.add(running);
    try {
      const packed = packValues(await running);
      return { meta: packed.json, tensors: packed.tensors };
    } finally {
      this.#calls.delete(running);
    }
  }

  async #answerTimed(inputs: Tensors, call: ModelCall, timeline: Timeline): Promise<Reply> {
    const began = steadyMs();
    try {
      const tensors = await this.#model.predict(inputs, call);
      return { meta: { began, intervals: timeline.intervals } satisfies TimedAnswer, tensors };
    } catch (reason) {
      return { meta: failedAnswer(reason, began, timeline), tensors: undefined };
    }
  }

  /**
   * Posts when nothing else is about to be answered, or when replies come so slowly that
   * waiting would cost more than posting.
   */
  #answered(channel: Channel): void {
    const now = performance.now();
    const isSlow = now - this.#lastAnswer > HOLD_MS;
    if (this.#due.size === 0) this.#dueSince = now;
    this.#lastAnswer = now;
    this.#due.add(channel);
    this.#unanswered--;
    if (this.#unanswered === 0 || isSlow || now - this.#dueSince > HOLD_MS) this.#flushNext();
    else this.#timer ??= setTimeout(() => this.#flush(), 1);
  }

  /** With all answers that one run gave, and before the next run may block the thread. */
  #flushNext(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    process.nextTick(() => this.#flush());
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isFlushing = false;
    for (const channel of this.#due) channel.flush();
    this.#due.clear();
  }
}
