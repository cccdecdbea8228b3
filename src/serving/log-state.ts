import type { Logger } from "../observability/logger.ts";
import type { StateListener } from "./model-manager.ts";

/** The cause of an error, except for file-system errors, which the message describes better. */
function newsOf({ cause }: Error): unknown {
  return cause instanceof Error && "syscall" in cause ? undefined : cause;
}

/** Logs one line for each change of a version's status; a persisting error is logged once. */
export function logState(log: Logger): StateListener {
  const logged = new Map<string, string>();
  return ({ model, version, state, error, generation }) => {
    const fields = { model, version: String(version), state, generation };
    const place = `${model}/${version}`;
    if (error === undefined || logged.get(place) === error.message) log.info("model state", fields);
    // Its own stack would add nothing to the message.
    else log.error(`model state: ${error.message}`, { ...fields, code: error.code, err: newsOf(error) });
    if (error === undefined || state === "END") logged.delete(place);
    else logged.set(place, error.message);
  };
}
