import type { PythonRequest, PythonResponse } from "../../../drivers/python/conversation.ts";
import type { PythonProcess } from "../../../drivers/python/python-process.ts";
import type { ServingError } from "../../../errors.ts";
import type { HookContext } from "../../hooks.ts";
import type { HookRuns } from "./hook-runs.ts";
import type { HookScopes } from "./hook-scopes.ts";

/** Parts of {@link HookCalls}. */
interface HookCallsParts {
  readonly process: PythonProcess;
  readonly scopes: HookScopes;
  readonly runs: HookRuns;
  /** 0 = no limit. */
  readonly hookTimeoutMs: number;
  /** Called when a hook has computed for too long; the process cannot go on. */
  readonly onStuck: (reason: ServingError) => void;
}

/** A generator in the process. */
export interface PythonGenerator {
  /** The process knows the generators of a request by hook and stage. */
  readonly hook: string;
  readonly stage: number;
  /** Asynchronous ones share an event loop, and take no turns. */
  readonly kind: "sync" | "async";
  /** For messages. */
  readonly place: string;
}

/** Calls of hooks in their Python process, each with its turn and its time. */
export class HookCalls {
  readonly #parts: HookCallsParts;
  #lost: ServingError | undefined;

  constructor(parts: HookCallsParts) {
    this.#parts = parts;
  }

  /** Ends running calls with the reason for the end of their process. */
  lose(reason: ServingError): void {
    this.#lost ??= reason;
  }

  /** Runs init_hook, outside any request. */
  async init(question: PythonRequest): Promise<void> {
    const { runs, process } = this.#parts;
    const ask = () => ({ number: 0, answer: process.ask(question) });
    try {
      await runs.run(ask, { timeoutMs: 0, place: "init_hook", onStuck: () => {} });
    } catch (reason) {
      throw this.#lost ?? reason;
    }
  }

  /** Runs a hook of a request when it is its turn. */
  async run(question: PythonRequest, place: string, ctx: HookContext): Promise<PythonResponse> {
    const { runs, hookTimeoutMs: timeoutMs, onStuck } = this.#parts;
    try {
      return await runs.run(() => this.#ask(question, ctx), { timeoutMs, place, onStuck }, ctx.signal);
    } catch (reason) {
      throw this.#lost ?? reason;
    }
  }

  /**
   * The parts of a generator, which makes the next one once it is asked for that: the first one by `first`. One that is
   * left early runs its `finally`.
   */
  async *each(
    generator: PythonGenerator,
    ctx: HookContext,
    first?: PythonRequest,
  ): AsyncGenerator<PythonResponse, void, undefined> {
    const { hook, stage } = generator;
    const next = { op: "next", hook, stage } as const;
    let isOpen = true;
    this.#parts.scopes.hold(ctx);
    try {
      for (let number = 1; ; number++) {
        const question = number === 1 ? (first ?? next) : next;
        const answer = await this.#next(generator, question, { ctx, missing: `given part ${number}` });
        isOpen = answer.result !== null;
        if (!isOpen) return;
        yield answer;
      }
    } catch (reason) {
      isOpen = false;
      await this.leave(generator, ctx).catch(() => {});
      throw reason;
    } finally {
      try {
        if (isOpen) await this.leave(generator, ctx);
      } finally {
        this.#drop(this.#parts.scopes.letGo(ctx));
      }
    }
  }

  /** Has a generator run its `finally`; one that does not end is lost with its process, as any hook that hangs. */
  async leave({ hook, stage, kind, place }: PythonGenerator, ctx: HookContext): Promise<void> {
    const { runs, hookTimeoutMs: timeoutMs, onStuck } = this.#parts;
    const limits = { timeoutMs, place, missing: "ended" };
    const question = { op: "leave", hook, stage } as const;
    if (kind === "sync") await runs.run(() => this.#ask(question, ctx), { ...limits, onStuck });
    else await runs.beside(this.#askBeside(question, ctx), { ...limits, onLate: onStuck });
  }

  /** The request has ended, perhaps before its last hook ran. */
  release(ctx: HookContext): void {
    this.#drop(this.#parts.scopes.end(ctx));
  }

  async #next({ kind, place }: PythonGenerator, question: PythonRequest, next: NextPart): Promise<PythonResponse> {
    const { runs, hookTimeoutMs: timeoutMs, onStuck } = this.#parts;
    const { ctx, missing } = next;
    const limits = { timeoutMs, place, missing };
    try {
      return await (kind === "sync"
        ? runs.run(() => this.#ask(question, ctx), { ...limits, onStuck }, ctx.signal)
        : runs.beside(this.#askBeside(question, ctx), { ...limits, onLate: () => {} }, ctx.signal));
    } catch (reason) {
      throw this.#lost ?? reason;
    }
  }

  #ask(question: PythonRequest, ctx: HookContext): { number: number; answer: Promise<PythonResponse> } {
    const { scopes, process } = this.#parts;
    const context = scopes.numberOf(ctx);
    return { number: context, answer: process.ask({ ...question, context }) };
  }

  #askBeside(question: PythonRequest, ctx: HookContext): Promise<PythonResponse> {
    return this.#ask({ ...question, beside: true }, ctx).answer;
  }

  #drop(number: number | undefined): void {
    if (number !== undefined) this.#parts.process.drop(number);
  }
}

/** The next part of a request's generator. */
interface NextPart {
  readonly ctx: HookContext;
  /** The act that is waited for, for messages. */
  readonly missing: string;
}
