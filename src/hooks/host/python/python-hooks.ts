import type { PythonResponse } from "../../../drivers/python/conversation.ts";
import type { PythonProcess } from "../../../drivers/python/python-process.ts";
import { ServingError } from "../../../errors.ts";
import type { HookKind } from "../../../pipeline/hook-times.ts";
import type { Values } from "../../../tensor/plain-value.ts";
import { createTensor } from "../../../tensor/tensor.ts";
import { isHeaderText } from "../../check-response.ts";
import type { HookSet } from "../../hook-set.ts";
import type { Hook, HookContext, InitContext, InitParams } from "../../hooks.ts";
import type { RawCall, RawEntry, RawResult } from "../../raw-entry.ts";
import type { HookAnswers } from "./hook-answers.ts";
import type { HookRuns } from "./hook-runs.ts";
import type { HookScopes } from "./hook-scopes.ts";
import { packHookValues, unpackHookValues } from "./hook-values.ts";
import { driverFacts } from "./stage-facts.ts";

/** A hook that the file has. */
export interface FoundHook {
  readonly hook: HookKind;
  /** From 0. */
  readonly stage: number;
}

/** Parts of {@link PythonHooks}. */
export interface PythonHooksParts extends HookCalls {
  readonly found: readonly FoundHook[];
  /** Handlers of an `inference.py`. */
  readonly handlers: readonly string[];
  readonly stageCount: number;
  readonly answers: HookAnswers;
}

/** The hooks of a Python file, whose functions ask the process that runs them. */
export class PythonHooks {
  readonly #parts: PythonHooksParts;
  /** The hook after which the process forgets a request by itself. */
  readonly #last: FoundHook | undefined;
  /** Requests whose values are JSON. */
  readonly #json = new WeakSet<HookContext>();
  #lost: ServingError | undefined;

  constructor(parts: PythonHooksParts) {
    this.#parts = parts;
    this.#last = [...parts.found].sort((one, other) => orderOf(one) - orderOf(other)).at(-1);
  }

  /** Ends running hooks with the reason for the end of their process. */
  lose(reason: ServingError): void {
    this.#lost ??= reason;
  }

  /** The hooks as a pipeline runs them. */
  get hooks(): HookSet {
    const { stageCount, handlers } = this.#parts;
    const entries = new Map(handlers.map((name) => [name, handlerEntry(name, this.#parts, () => this.#lost)]));
    const slots = (kind: HookKind) => Array.from({ length: stageCount }, (_, stage) => this.#hook(kind, stage) ?? null);
    const process = this.#hook("process", 0);
    return {
      init: (params, ctx) => this.#init(params, ctx),
      ...(process && { process }),
      preprocess: slots("preprocess"),
      postprocess: slots("postprocess"),
      begin: (ctx, isJson) => {
        if (isJson) this.#json.add(ctx);
      },
      release: (ctx) => this.#release(ctx),
      ...(handlers.length > 0 && { entries }),
    };
  }

  #hook(hook: HookKind, stage: number): Hook | undefined {
    const found = this.#parts.found.find((each) => each.hook === hook && each.stage === stage);
    return found && ((values, ctx) => this.#run(found, values, ctx));
  }

  async #init(params: InitParams, ctx: InitContext): Promise<void> {
    const { process, answers, runs } = this.#parts;
    answers.begin(ctx);
    const answer = () => process.ask({ op: "init", params, drivers: ctx.drivers.map(driverFacts) });
    try {
      await runs.run(() => ({ number: 0, answer: answer() }), { timeoutMs: 0, place: "init_hook", onStuck: () => {} });
    } catch (reason) {
      throw this.#lost ?? reason;
    }
  }

  async #run(found: FoundHook, values: Values, ctx: HookContext): Promise<Values> {
    const { runs, hookTimeoutMs: timeoutMs, onStuck } = this.#parts;
    const place = this.#placeOf(found);
    try {
      const answer = await runs.run(() => this.#ask(found, values, ctx), { timeoutMs, place, onStuck }, ctx.signal);
      return take(answer, ctx);
    } catch (reason) {
      throw this.#lost ?? reason;
    }
  }

  #ask(
    { hook, stage }: FoundHook,
    values: Values,
    ctx: HookContext,
  ): { number: number; answer: Promise<PythonResponse> } {
    const number = this.#parts.scopes.numberOf(ctx);
    const last = hook === this.#last?.hook && stage === this.#last.stage;
    const place = this.#placeOf({ hook, stage });
    const json = this.#json.has(ctx) && { json: true };
    const request = {
      op: "hook",
      hook,
      stage,
      place,
      last,
      ...json,
      ...packHookValues(values),
      context: number,
    } as const;
    return { number, answer: this.#parts.process.ask(request) };
  }

  /** The request has ended, perhaps before its last hook ran. */
  #release(ctx: HookContext): void {
    const { scopes, process } = this.#parts;
    const number = scopes.end(ctx);
    if (number !== undefined) process.drop(number);
  }

  #placeOf({ hook, stage }: FoundHook): string {
    return hook === "process" || this.#parts.stageCount === 1 ? hook : `${hook}[${stage}]`;
  }
}

function orderOf({ hook, stage }: FoundHook): number {
  return 2 * stage + (hook === "postprocess" ? 1 : 0);
}

interface HookAdditions {
  readonly metadata: Record<string, string>;
  readonly contentType?: string;
}

function take({ result, tensors, response }: PythonResponse, ctx: HookContext): Values {
  const { metadata, contentType } = (response ?? {}) as Partial<HookAdditions>;
  if (metadata !== undefined) Object.assign(ctx.response.metadata, metadata);
  if (contentType !== undefined) ctx.response.contentType = contentType;
  return (result === undefined ? tensors : unpackHookValues(result, tensors)) as Values;
}

/** Parts that calls into a Python process need. */
interface HookCalls {
  readonly process: PythonProcess;
  readonly scopes: HookScopes;
  readonly runs: HookRuns;
  /** 0 = no limit. */
  readonly hookTimeoutMs: number;
  /** Called when a hook has computed for too long; the process cannot go on. */
  readonly onStuck: (reason: ServingError) => void;
}

/** A handler of an `inference.py` as an entry of the hooks; `lost` says why its process has ended. */
function handlerEntry(
  name: string,
  { process, scopes, runs, hookTimeoutMs: timeoutMs, onStuck }: HookCalls,
  lost: () => ServingError | undefined,
): RawEntry {
  const call = async ({ facts, body: bytes }: RawCall, ctx: HookContext) => {
    const body = createTensor("uint8", [bytes.length], new Uint8Array(bytes));
    const ask = () => ({
      number: scopes.numberOf(ctx),
      answer: process.ask({ op: "handler", handler: name, facts, tensors: { body } }),
    });
    try {
      const { result, tensors } = await runs.run(ask, { timeoutMs, place: name, onStuck }, ctx.signal);
      return { contentType: result, body: tensors.body?.data };
    } catch (reason) {
      throw lost() ?? reason;
    } finally {
      scopes.end(ctx);
    }
  };
  return { place: name, call, seal: (returned) => seal(returned as Partial<RawResult>, name) };
}

/** The request for the model has no content type. */
function seal({ contentType, body }: Partial<RawResult>, name: string): RawResult {
  if (body instanceof Uint8Array && (name === "input_handler" || isHeaderText(contentType)))
    return { status: 200, contentType: contentType ?? "", body };
  const text = JSON.stringify(String(contentType).slice(0, 100));
  throw new ServingError(
    "internal",
    `The hook ${name} returned the content type ${text}; expected one such as application/json.`,
  );
}
