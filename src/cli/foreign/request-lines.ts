import type { Logger } from "../../observability/logger.ts";

/** Fields of the line that the log has at level debug for each request. */
export interface RequestFields {
  readonly model?: string;
  readonly version?: string;
  readonly deserializationMs?: number;
  readonly inferenceMs?: number;
  readonly serializationMs?: number;
}

/** The same log; a function also gets the fields of each request's line at level debug. */
export function withRequestLines(log: Logger, tell: (fields: RequestFields) => void): Logger {
  const told: Partial<Logger> = {
    debug: (message, fields = {}) => {
      log.debug(message, fields);
      if (message === "request" && log.filter?.writes("debug") === true) tell(fields);
    },
    child: (fields) => withRequestLines(log.child(fields), tell),
  };
  return Object.assign(Object.create(log), told);
}
