import type { Logger } from "../observability/logger.ts";
import type { StateListener } from "./model-manager.ts";

/** Logs one line for each change of a version's status. */
export function logState(log: Logger): StateListener {
  return ({ model, version, state, error, generation }) => {
    const fields = { model, version: String(version), state, generation };
    if (error === undefined) log.info("model state", fields);
    // Its own stack would tell nothing that the message does not.
    else log.error(`model state: ${error.message}`, { ...fields, code: error.code, err: error.cause });
  };
}
