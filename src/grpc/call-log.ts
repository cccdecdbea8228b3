import { type ErrorCode, ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import type { RequestRecord } from "../observability/request-record.ts";

/** Codes that are the server's fault, whose cause an operator should read. */
const SERVER_FAULTS: readonly ErrorCode[] = ["internal", "unknown", "data_loss"];

interface FailedCall {
  /** Its path. */
  readonly rpc: string;
  readonly record: RequestRecord;
}

/** Writes a failed call to the log. */
export function logFailure(reason: unknown, { rpc, record }: FailedCall, log: Logger): void {
  const { code, message, cause } = ServingError.from(reason);
  record.failedWith = code;
  const about = () => ({ ...record.fields(), rpc, code });
  if (SERVER_FAULTS.includes(code)) log.error("request failed", { ...about(), err: reason });
  else if (code === "unavailable" && cause !== undefined) log.warn("request failed", { ...about(), err: reason });
  else if (log.filter?.writes("debug") !== false) log.debug("request refused", { ...about(), reason: message });
}
