import { ERROR_INFO, errorInfo } from "./error-info.ts";
import { type ErrorDetail, isErrorDetails } from "./errors.ts";

/** A `google.rpc.ErrorInfo` of a request that was lost with the process that ran its model, or its hooks. */
export const LOST_PROCESS: ErrorDetail = errorInfo("MODEL_PROCESS_ENDED");

/** The same for a thread of hooks that ended under it, which is there again in milliseconds. */
export const LOST_THREAD: ErrorDetail = errorInfo("THREAD_ENDED");

/** The same for a thread of hooks that hung. */
export const HUNG_THREAD: ErrorDetail = errorInfo("THREAD_HUNG");

/** The same for a thread of hooks that had filled its memory. */
export const FULL_THREAD: ErrorDetail = errorInfo("THREAD_OUT_OF_MEMORY");

/** The same for a model's thread that hung, or ended: the model is loaded again. */
export const LOST_MODEL_THREAD: ErrorDetail = errorInfo("MODEL_THREAD_ENDED");

/** Losses with something that others wait for, or have waited for, as long as for a process. */
const COSTLY: readonly ErrorDetail[] = [LOST_PROCESS, HUNG_THREAD, FULL_THREAD, LOST_MODEL_THREAD];

/** Checks if the details of an error have a {@link LOST_PROCESS}, through however many threads they came. */
export function hasLostProcess(details: readonly ErrorDetail[] | undefined): boolean {
  return isErrorDetails(details) && details.some((detail) => isInfo(detail, LOST_PROCESS));
}

/** Checks if the details of an error say that the request was lost with what ran it. */
export function wasLost(details: readonly ErrorDetail[] | undefined): boolean {
  // Hooks give their errors any.
  if (!isErrorDetails(details)) return false;
  return details.some((detail) => isInfo(detail, LOST_THREAD)) || wasCostly(details);
}

/** Checks if that was a process, or a thread that takes as long. */
export function wasCostly(details: readonly ErrorDetail[] | undefined): boolean {
  return isErrorDetails(details) && details.some((detail) => COSTLY.some((info) => isInfo(detail, info)));
}

function isInfo({ type, value }: ErrorDetail, info: ErrorDetail): boolean {
  return type === ERROR_INFO && value === info.value;
}

/** Those who are told if a request is lost after it was given up, by the signal that gave it up. */
const givenUp = new WeakMap<object, LostListener[]>();

type LostListener = (details: readonly ErrorDetail[]) => void;

/**
 * Calls back if the request of an aborted signal, on which something may still work, is lost with that. The stages of a
 * pipeline share its signal.
 */
export function onLostLater(signal: object, listener: LostListener): void {
  const listeners = givenUp.get(signal);
  if (listeners === undefined) givenUp.set(signal, [listener]);
  else listeners.push(listener);
}

/** Tells that a request that was given up is lost, with the details that its error would have. */
export function loseGivenUp(signal: object, details: readonly ErrorDetail[] | undefined): void {
  if (!wasLost(details)) return;
  const listeners = givenUp.get(signal) ?? [];
  givenUp.delete(signal);
  for (const listener of listeners) listener(details ?? []);
}
