import type { Logger } from "../../observability/logger.ts";
import type { Authentication } from "./authentication.ts";

/** Milliseconds between two looks at the files. */
const LOOK_MS = 10_000;

/** Has files read again when they change, as long as the process lives or until what this returns is called; one that does not work is told and changes nothing. */
export function keepFresh(authentication: Pick<Authentication, "refresh">, log: Logger): () => void {
  let problem = "";
  const look = async () => {
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
  void look();
  const timer = setInterval(() => void look(), LOOK_MS).unref();
  return () => clearInterval(timer);
}
