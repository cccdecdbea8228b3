import { publicText, ServingError } from "../errors.ts";
import type { Values } from "../tensor/plain-value.ts";
import { isPlainObject } from "../tensor/record.ts";
import { isTensor, type Tensors } from "../tensor/tensor.ts";
import type { Hook, HookArgs, HookContext } from "./hooks.ts";

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
    `The hook ${place} returned ${describe(returned)}; expected an object of values by name.`,
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

interface Wait {
  readonly place: string;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/**
 * Rejects when the request ends or the time is over before the promise settles; the hook continues, but its request
 * does not wait for it.
 */
async function settle(pending: PromiseLike<unknown>, { place, signal, timeoutMs }: Wait): Promise<unknown> {
  let stop = () => {};
  try {
    return await new Promise((resolve, reject) => {
      const abort = () => reject(signal.reason);
      const timer = timeoutMs === 0 ? undefined : setTimeout(() => reject(tooLate(place, timeoutMs)), timeoutMs);
      stop = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", abort);
      };
      if (signal.aborted) abort();
      else signal.addEventListener("abort", abort);
      void forward(pending, resolve, reject);
    });
  } finally {
    stop();
  }
}

/** Without `then`, which a package may have replaced. */
async function forward(
  pending: PromiseLike<unknown>,
  resolve: (value: unknown) => void,
  reject: (reason: unknown) => void,
): Promise<void> {
  try {
    resolve(await pending);
  } catch (reason) {
    reject(reason);
  }
}

function tooLate(place: string, timeoutMs: number): ServingError {
  return new ServingError(
    "deadline_exceeded",
    `The hook ${place} has not returned within ${timeoutMs} ms (--hook-timeout); does its promise ever settle?`,
  );
}

function hookError(place: string, reason: unknown, signal: AbortSignal): ServingError {
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
function isNamedValues(value: unknown): value is Values {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value) || ArrayBuffer.isView(value) || isTensor(value)) return false;
  return isPlainObject(value) || Object.keys(value).length > 0;
}

function describe(value: unknown): string {
  if (value === undefined) return "undefined (is a return missing?)";
  if (value === null) return "null";
  if (isTensor(value)) return "a bare tensor";
  return typeof value === "object" ? `a bare ${value.constructor?.name ?? "object"}` : `a ${typeof value}`;
}
