import type { PythonRequest, PythonResponse } from "../../../drivers/python/conversation.ts";
import type { HookKind } from "../../../pipeline/hook-times.ts";
import type { Values } from "../../../tensor/plain-value.ts";
import { isPlainObject } from "../../../tensor/record.ts";
import { isTensor, type Tensor } from "../../../tensor/tensor.ts";
import type { AnyHook } from "../../generator-hooks.ts";
import type { HookSet } from "../../hook-set.ts";
import type { Hook, HookContext, InitContext, InitParams } from "../../hooks.ts";
import type { RawEntry } from "../../raw-entry.ts";
import type { HookAnswers } from "./hook-answers.ts";
import type { HookCalls } from "./hook-calls.ts";
import { packHookValues, packJson, unpackHookValues } from "./hook-values.ts";
import { driverFacts } from "./stage-facts.ts";

/** A hook that the file has. */
export interface FoundHook {
  readonly hook: HookKind | "collect";
  /** From 0. */
  readonly stage: number;
  /** The kind of a generator, which answers in parts; null = it returns. */
  readonly parts: "sync" | "async" | null;
}

/** Parts of {@link PythonHooks}. */
export interface PythonHooksParts {
  readonly found: readonly FoundHook[];
  /** Functions that requests call in place of the pipeline; empty = there are none. */
  readonly entries: ReadonlyMap<string, RawEntry>;
  readonly stageCount: number;
  readonly answers: HookAnswers;
  readonly calls: HookCalls;
}

/** The hooks of a Python file, whose functions ask the process that runs them. */
export class PythonHooks {
  readonly #parts: PythonHooksParts;
  /** The hook after which the process forgets a request by itself; undefined if hooks may run once per part. */
  readonly #last: FoundHook | undefined;
  /** Requests whose values are JSON. */
  readonly #json = new WeakSet<HookContext>();

  constructor(parts: PythonHooksParts) {
    this.#parts = parts;
    const once = parts.found.filter(({ hook }) => hook !== "collect");
    const hasParts = once.some((each) => each.parts !== null);
    this.#last = hasParts ? undefined : once.sort((one, other) => orderOf(one) - orderOf(other)).at(-1);
  }

  /** The hooks as a pipeline runs them. */
  get hooks(): HookSet {
    const { stageCount, entries, calls } = this.#parts;
    const slots = <Made>(make: (stage: number) => Made) =>
      Array.from({ length: stageCount }, (_, stage) => make(stage));
    const process = this.#anyHook("process", 0);
    const collect = this.#find("collect", 0);
    return {
      init: (params, ctx) => this.#init(params, ctx),
      ...(process && { process }),
      ...(collect && { collect: (parts, ctx) => this.#run(collect, parts, ctx) }),
      preprocess: slots((stage) => this.#hook("preprocess", stage) ?? null),
      postprocess: slots((stage) => this.#anyHook("postprocess", stage) ?? null),
      begin: (ctx, isJson) => {
        if (isJson) this.#json.add(ctx);
      },
      release: (ctx) => calls.release(ctx),
      ...(entries.size > 0 && { entries }),
    };
  }

  #find(hook: FoundHook["hook"], stage: number): FoundHook | undefined {
    return this.#parts.found.find((each) => each.hook === hook && each.stage === stage);
  }

  #hook(hook: HookKind, stage: number): Hook | undefined {
    const found = this.#find(hook, stage);
    return found && ((values, ctx) => this.#run(found, values, ctx));
  }

  /** A generator is one here too. */
  #anyHook(hook: HookKind, stage: number): AnyHook | undefined {
    const found = this.#find(hook, stage);
    if (found === undefined || found.parts === null) return this.#hook(hook, stage);
    const generator = { hook, stage, kind: found.parts, place: this.#placeOf(found) };
    const { calls } = this.#parts;
    const open = (values: Values, ctx: HookContext) => this.#question("open", found, values, ctx);
    return async function* (values, ctx) {
      for await (const answer of calls.each(generator, ctx, open(values, ctx))) yield take(answer, ctx);
    };
  }

  async #init(params: InitParams, ctx: InitContext): Promise<void> {
    const { calls, answers } = this.#parts;
    answers.begin(ctx);
    await calls.init({ op: "init", params, drivers: ctx.drivers.map(driverFacts) });
  }

  async #run(found: FoundHook, values: Values | readonly Values[], ctx: HookContext): Promise<Values> {
    return take(
      await this.#parts.calls.run(this.#question("hook", found, values, ctx), this.#placeOf(found), ctx),
      ctx,
    );
  }

  #question(
    op: "hook" | "open",
    { hook, stage }: FoundHook,
    values: Values | readonly Values[],
    ctx: HookContext,
  ): PythonRequest {
    const { part } = ctx;
    const isLast = part === undefined && hook === this.#last?.hook && stage === this.#last.stage;
    return {
      op,
      hook,
      stage,
      place: this.#placeOf({ hook, stage }),
      last: isLast,
      ...(part !== undefined && { part }),
      ...(this.#json.has(ctx) && { json: true }),
      ...(isList(values) ? packJson(values) : packHookValues(values)),
    };
  }

  #placeOf({ hook, stage }: Pick<FoundHook, "hook" | "stage">): string {
    return hook === "process" || hook === "collect" || this.#parts.stageCount === 1 ? hook : `${hook}[${stage}]`;
  }
}

/** Without the guard of `Array.isArray`, which a list that may not be changed does not meet. */
function isList(values: Values | readonly Values[]): values is readonly Values[] {
  return Array.isArray(values);
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

/** A function of the file that answers requests about texts. */
export interface FoundFunction {
  readonly name: string;
  readonly parts: FoundHook["parts"];
}

/** The functions of a file as one in TypeScript has them. */
export function pythonFunctions(
  found: readonly FoundFunction[],
  calls: HookCalls,
): Readonly<Record<string, (request: unknown, ctx: HookContext) => unknown>> {
  const toFunction = ({ name, parts: kind }: FoundFunction) => {
    const isFile = FILES.includes(name);
    const toValue = (answer: PythonResponse, ctx: HookContext) => {
      const { value } = take(answer, ctx);
      return isFile ? withBytes(value) : value;
    };
    const question = (op: string, request: unknown) =>
      ({ op, hook: name, stage: 0, place: name, ...packJson(request) }) as PythonRequest;
    if (kind === null)
      return async (request: unknown, ctx: HookContext) =>
        toValue(await calls.run(question("function", request), name, ctx), ctx);
    const generator = { hook: name, stage: 0, kind, place: name };
    return async function* (request: unknown, ctx: HookContext) {
      for await (const answer of calls.each(generator, ctx, question("open", request))) yield toValue(answer, ctx);
    };
  };
  return Object.fromEntries(found.map((each) => [each.name, toFunction(each)]));
}

/** Functions that give files. */
const FILES = ["speak", "generateImage"];

/** A value with bytes in place of the tensors that Python's `bytes`, and lists of them, have become. */
function withBytes(value: unknown): unknown {
  if (isTensor(value)) {
    if (value.dtype !== "bytes") return value;
    const all = [...(value as Tensor<"bytes">).data];
    return value.shape.length === 0 ? all[0] : all;
  }
  if (Array.isArray(value)) return value.map(withBytes);
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withBytes(each)]));
}
