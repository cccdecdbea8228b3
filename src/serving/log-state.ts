import type { Logger } from "../observability/logger.ts";
import type { StateListener } from "./model-manager.ts";

/** The cause of an error, but for one of the file system, which the message tells in better words. */
function newsOf({ cause }: Error): unknown {
  return cause instanceof Error && "syscall" in cause ? undefined : cause;
}

/** Logs one line for each change of a version's status; an error that stays is one once. */
export function logState(log: Logger): StateListener {
  const told = new Map<string, string>();
  return ({ model, version, state, error, generation }) => {
    const fields = { model, version: String(version), state, generation };
    const place = `${model}/${version}`;
    if (error === undefined || told.get(place) === error.message) log.info("model state", fields);
    // Its own stack would tell nothing that the message does not.
    else log.error(`model state: ${error.message}`, { ...fields, code: error.code, err: newsOf(error) });
    if (error === undefined || state === "END") told.delete(place);
    else told.set(place, error.message);
  };
}
