import { type ErrorDetail, isErrorDetails } from "./errors.ts";

const TYPE = "type.googleapis.com/google.rpc.ErrorInfo";
/** Tags of ErrorInfo.reason and ErrorInfo.domain. */
const [REASON, DOMAIN] = [0x0a, 0x12] as const;

/** A `google.rpc.ErrorInfo` of a request that was lost since the process that ran its model ended under it. */
export const LOST_PROCESS: ErrorDetail = errorInfo("MODEL_PROCESS_ENDED");

/** The same for a thread of hooks or of a model, or a process of hooks, that ended under it, or hung in it. */
export const LOST_THREAD: ErrorDetail = errorInfo("THREAD_ENDED");

/** Checks if the details of an error have a {@link LOST_PROCESS}, through however many threads they came. */
export function hasLostProcess(details: readonly ErrorDetail[] | undefined): boolean {
  return isErrorDetails(details) && details.some(({ type, value }) => type === TYPE && value === LOST_PROCESS.value);
}

/** Checks if the details of an error say that the request was lost with what ran it. */
export function wasLost(details: readonly ErrorDetail[] | undefined): boolean {
  const isLoss = ({ value }: ErrorDetail) => value === LOST_PROCESS.value || value === LOST_THREAD.value;
  // Hooks give their errors any.
  return isErrorDetails(details) && details.some((detail) => detail.type === TYPE && isLoss(detail));
}

/** A `google.rpc.ErrorInfo` of this server with a reason for programs. */
export function errorInfo(reason: string): ErrorDetail {
  const value = Buffer.from([...text(REASON, reason), ...text(DOMAIN, "kserving")]).toString("base64");
  return { type: TYPE, value };
}

function text(tag: number, value: string): number[] {
  return [tag, value.length, ...Buffer.from(value)];
}
