import type { Logger } from "../../observability/logger.ts";
import type { Authentication } from "./authentication.ts";

/** Time between two checks of the files, in milliseconds. */
const CHECK_MS = 10_000;

/**
 * Has files read again when they change, until the returned function is called. A file with an error changes nothing, and the
 * error is logged.
 */
export function keepFresh(authentication: Pick<Authentication, "refresh">, log: Logger): () => void {
  let problem = "";
  const check = async () => {
    try {
      const changed = await authentication.refresh();
      problem = "";
      for (const path of changed) log.info("who may call has changed", { path });
    } catch (err) {
      // Once for each thing that is wrong, not every ten seconds.
      if (String(err) === problem) return;
      problem = String(err);
      log.error("what says who may call cannot be read; what it said before counts", { err });
    }
  };
  // An address may not have answered yet.
  void check();
  const timer = setInterval(() => void check(), CHECK_MS).unref();
  return () => clearInterval(timer);
}
