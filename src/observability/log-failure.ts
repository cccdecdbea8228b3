import { type ErrorCode, pointsToLog, reasonText, ServingError } from "../errors.ts";
import { loggedPath } from "./access-log.ts";
import type { Logger } from "./logger.ts";
import type { RequestRecord } from "./request-record.ts";

/** Codes that are the server's fault, whose cause an operator should read. */
const SERVER_FAULTS: readonly ErrorCode[] = ["internal", "unknown", "data_loss"];

/** A request that failed. */
export interface RequestFailure {
  readonly reason: unknown;
  /** Undefined for a refusal that only its transport knows. */
  readonly code: ErrorCode | undefined;
  readonly record: RequestRecord;
  /** Its URL or gRPC's method. */
  readonly path: string;
  /** Further fields of the line. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/**
 * Writes a failed request to the log: with its stack if an operator should know, or the client was told that it is
 * there, else at level `debug`.
 */
export function logFailure({ reason, code, record, path, fields }: RequestFailure, log: Logger): void {
  const about = () => ({ ...record.fields(), ...fields, path: loggedPath(path), ...(code !== undefined && { code }) });
  const isServerFault = (code !== undefined && SERVER_FAULTS.includes(code)) || isPromised(reason, code);
  const isCaused = code === "unavailable" && (reason as Error).cause !== undefined;
  if (isServerFault) log.error("request failed", { ...about(), err: reason });
  else if (isCaused) log.warn("request failed", { ...about(), err: reason });
  else if (log.filter?.writes("debug") !== false) {
    log.debug("request refused", { ...about(), reason: reasonText(reason) });
  }
}

/** Errors of transports have no code, and are sent as they are. */
function isPromised(reason: unknown, code: ErrorCode | undefined): boolean {
  return (reason instanceof ServingError || code === undefined) && pointsToLog(reasonText(reason));
}
