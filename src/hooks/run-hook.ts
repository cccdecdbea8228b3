import { publicText, reasonText, ServingError } from "../errors.ts";
import type { CancelSignal } from "../platform/async/cancel-source.ts";
import { settlesWithin } from "../platform/async/promises.ts";
import type { Values } from "../tensor/plain-value.ts";
import { isPlainObject } from "../tensor/record.ts";
import { isTensor, type Tensors } from "../tensor/tensor.ts";
import type { Hook, HookArgs, HookContext, PartsHook } from "./hooks.ts";

/** One hook at its place in the pipeline. */
export interface PlacedHook {
  readonly hook: Hook;
  /** For messages: `preprocess`, `preprocess[1]`, `process`. */
  readonly place: string;
  readonly args: HookArgs;
}

/**
 * Calls one hook and checks that it returned named values. Its errors become `internal` with the hook's own message,
 * except a ServingError, which reaches the client unchanged. A promise is waited for until the request ends, or for
 * `timeoutMs` (0 = no limit).
 */
export async function runHook(placed: PlacedHook, values: Values, ctx: HookContext, timeoutMs = 0): Promise<Values> {
  const { hook, place, args } = placed;
  let returned: unknown;
  try {
    returned = hook(values as Tensors, ctx, args);
    if (isThenable(returned)) returned = await settle(returned, { place, signal: ctx.signal, timeoutMs });
  } catch (reason) {
    throw hookError(place, reason, ctx.signal);
  }
  if (isNamedValues(returned)) return returned;
  throw new ServingError(
    "internal",
    `The hook ${place} returned ${describeValue(returned)}; expected an object of values by name.`,
  );
}

/**
 * Calls a function of a hook file that is not a step of the pipeline, with
 * {@link runHook}'s errors and limits; resolves with what it returned.
 */
export async function callHook(
  call: () => unknown,
  place: string,
  { ctx, timeoutMs = 0 }: CallPlace,
): Promise<unknown> {
  try {
    const returned = call();
    return isThenable(returned) ? await settle(returned, { place, signal: ctx.signal, timeoutMs }) : returned;
  } catch (reason) {
    throw hookError(place, reason, ctx.signal);
  }
}

interface CallPlace {
  readonly ctx: HookContext;
  readonly timeoutMs?: number | undefined;
}

/** A wait for what a hook promised. */
interface Wait {
  readonly place: string;
  readonly signal: CancelSignal;
  /** 0 = no limit. */
  readonly timeoutMs: number;
  /** Number of the part that it waits for; absent = for what the hook returns. */
  readonly number?: number;
}

/**
 * Rejects when the request ends or the time is over before the promise settles; the hook continues, but its request
 * does not wait for it.
 */
function settle(pending: PromiseLike<unknown>, wait: Wait): Promise<unknown> {
  const { signal, timeoutMs } = wait;
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    };
    const abort = () => {
      end();
      reject(signal.reason);
    };
    const late = () => {
      end();
      reject(tooLate(wait));
    };
    const timer = timeoutMs === 0 ? undefined : setTimeout(late, timeoutMs);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort);
    void forward(pending, { resolve, reject, end });
  });
}

/** Ends of a {@link Wait}. */
interface WaitEnds {
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
  readonly end: () => void;
}

/** Without `then`, which a package may have replaced. */
async function forward(pending: PromiseLike<unknown>, { resolve, reject, end }: WaitEnds): Promise<void> {
  try {
    resolve(await pending);
  } catch (reason) {
    reject(reason);
  } finally {
    end();
  }
}

function tooLate({ place, timeoutMs, number }: Wait): ServingError {
  const missing = number === undefined ? "returned" : `given part ${number}`;
  return new ServingError(
    "deadline_exceeded",
    `The hook ${place} has not ${missing} within ${timeoutMs} ms (--hook-timeout); does its promise ever settle?`,
  );
}

function hookError(place: string, reason: unknown, signal: CancelSignal): ServingError {
  if (reason instanceof ServingError) return withMessage(ServingError.from(reason), place);
  if (signal.aborted) return ServingError.from(signal.reason);
  return new ServingError("internal", `The hook ${place} failed: ${publicText(reason)}`, { cause: reason });
}

/** JavaScript may omit the message, and clients would get an empty one. */
function withMessage(error: ServingError, place: string): ServingError {
  if (typeof error.message === "string" && error.message !== "") return error;
  const { code, details } = error;
  return new ServingError(code, `The hook ${place} failed and gave no message.`, { cause: error, details });
}

/** Also recognises promises of other realms and libraries, such as a database's query. */
function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

/** A class instance without members, such as a Map or a Date, was not meant as an object of values. */
export function isNamedValues(value: unknown): value is Values {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value) || ArrayBuffer.isView(value) || isTensor(value)) return false;
  return isPlainObject(value) || Object.keys(value).length > 0;
}

/** A value that a hook gave in place of named values, for a message. */
export function describeValue(value: unknown): string {
  if (value === undefined) return "undefined (is a return, or an await, missing?)";
  if (value === null) return "null";
  if (isTensor(value)) return "a bare tensor";
  if (isIterator(value)) return "a generator (declare the hook itself as one: async *process)";
  return typeof value === "object" ? `a bare ${value.constructor?.name ?? "object"}` : `a ${typeof value}`;
}

function isIterator(value: object): boolean {
  return typeof (value as { next?: unknown }).next === "function";
}

/**
 * Time that a generator has to end once it was left, in milliseconds: what waits for it, such as an unload, must not
 * wait for ever.
 */
const LEAVE_MS = 2000;

/** A generator at its place in the pipeline, and the request that it answers. */
export interface PartsRun extends Omit<PlacedHook, "hook"> {
  readonly hook: PartsHook;
  readonly values: Values;
  readonly ctx: HookContext;
  /** That of the context, which makes an AbortSignal of it only for a hook that asks. */
  readonly signal: CancelSignal;
  /** Time that each part may take, in milliseconds; 0 = no limit. */
  readonly timeoutMs: number;
  /** Takes each part, in order: the generator is asked for the next one once it resolves. */
  readonly take: (part: Values) => Promise<void>;
  /** Is told of the end of a generator that was left before its own. Never rejects, and is bounded. */
  readonly onLeft: (ended: Promise<void>) => void;
  readonly measure: Measure;
}

/** Measures what a generator does itself for each of its parts: an object, since a wrapper of each step would stay. */
export interface Measure {
  begin(): void;
  end(): void;
  /** Told once no part follows, and the error if there was one; absent = that is told by others. */
  over?(reason?: unknown): void;
}

type Parts = Iterator<unknown, unknown> | AsyncIterator<unknown, unknown>;

/** Anything that gives parts, at its place in the hook file. */
interface PartsSource<Part> extends Pick<PartsRun, "place" | "ctx" | "signal" | "timeoutMs" | "onLeft" | "measure"> {
  readonly open: () => Parts;
  /** Turns a given value into a part; throws for anything but a part. */
  readonly toPart: (value: unknown, number: number) => Part;
  readonly take: (part: Part) => Promise<void>;
}

/** {@link eachPart} of a generator among the hooks. */
export function runParts(run: PartsRun): Promise<void> {
  const { hook, values, args, ctx, place } = run;
  const toPart = (value: unknown, number: number) => checkPart(value, number, place);
  return eachPart({ toPart, open: () => hook(values as Tensors, ctx, args), ...run });
}

/**
 * Runs what gives parts until it ends, throws, or its request ends; `ctx.part` is the number of its part meanwhile.
 * Throws as {@link runHook} does. When it is left early, its `return()` is called, which is not waited for.
 */
export async function eachPart<Part>(run: PartsSource<Part>): Promise<void> {
  const { ctx, signal, take, onLeft, measure } = run;
  let parts: Parts | undefined;
  try {
    signal.throwIfAborted();
    const opened = begin(run);
    parts = opened;
    for (let number = 1; ; number++) {
      signal.throwIfAborted();
      const value = await nextPart(opened, number, run);
      if (value === END) break;
      ctx.part = number;
      await take(value);
    }
  } catch (reason) {
    if (parts !== undefined) onLeft(leave(parts, run));
    measure.over?.(reason);
    throw reason;
  }
  measure.over?.();
}

/** A generator's parameters may throw. */
function begin<Part>({ open, signal, place }: PartsSource<Part>): Parts {
  try {
    return open();
  } catch (reason) {
    throw hookError(place, reason, signal);
  }
}

const END = Symbol("the end of a generator");

/** The next part; throws the generator's error, and those for any other value. */
async function nextPart<Part>(
  parts: Parts,
  number: number,
  { place, signal, timeoutMs, toPart, measure }: PartsSource<Part>,
): Promise<Part | typeof END> {
  const wait = { place, signal, timeoutMs, number };
  let next: IteratorResult<unknown, unknown>;
  let value: unknown;
  measure.begin();
  try {
    const asked = parts.next();
    next = isThenable(asked) ? ((await settle(asked, wait)) as typeof next) : asked;
    value = isThenable(next.value) ? await settle(next.value, wait) : next.value;
    if (next.done !== true) return toPart(value, number);
  } catch (reason) {
    throw hookError(place, reason, signal);
  } finally {
    measure.end();
  }
  if (value === undefined) return END;
  throw new ServingError(
    "internal",
    `The hook ${place} returned ${describeValue(value)} at its end; the parts of an answer are what it yields: write yield in place of return.`,
  );
}

function checkPart(value: unknown, number: number, place: string): Values {
  if (isNamedValues(value)) return value;
  const came = value === undefined ? "undefined" : describeValue(value);
  throw new ServingError(
    "internal",
    `The hook ${place} yielded ${came} as part ${number}; expected an object of values by name.`,
  );
}

/** Lets a generator run its `finally`; one that does not end is given up as any hook whose promise never settles. */
async function leave(parts: Parts, { place, ctx }: Pick<PartsRun, "place" | "ctx">): Promise<void> {
  try {
    const ended = await settlesWithin(Promise.resolve(parts.return?.()), LEAVE_MS);
    if (!ended) ctx.log.warn(`${notEnded(place)} Does it await what never settles? Give ctx.signal to what it calls.`);
  } catch (reason) {
    ctx.log.warn(`The hook ${place} failed after its request had ended: ${reasonText(reason)}`, { err: reason });
  }
}

function notEnded(place: string): string {
  return `The hook ${place} has not ended within ${LEAVE_MS} ms after its request.`;
}
