import { ERROR_INFO, errorInfo } from "./error-info.ts";
import { type ErrorDetail, isErrorDetails } from "./errors.ts";

/** A `google.rpc.ErrorInfo` of a request that was lost with the process that ran its model, or its hooks. */
export const LOST_PROCESS: ErrorDetail = errorInfo("MODEL_PROCESS_ENDED");

/** The same for a thread of hooks or of a model that ended under it, or hung in it. */
export const LOST_THREAD: ErrorDetail = errorInfo("THREAD_ENDED");

/** Checks if the details of an error have a {@link LOST_PROCESS}, through however many threads they came. */
export function hasLostProcess(details: readonly ErrorDetail[] | undefined): boolean {
  return isErrorDetails(details) && details.some((detail) => isInfo(detail, LOST_PROCESS));
}

/** Checks if the details of an error say that the request was lost with what ran it. */
export function wasLost(details: readonly ErrorDetail[] | undefined): boolean {
  // Hooks give their errors any.
  if (!isErrorDetails(details)) return false;
  return details.some((detail) => isInfo(detail, LOST_PROCESS) || isInfo(detail, LOST_THREAD));
}

function isInfo({ type, value }: ErrorDetail, info: ErrorDetail): boolean {
  return type === ERROR_INFO && value === info.value;
}
