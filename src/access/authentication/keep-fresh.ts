import type { Logger } from "../../observability/logger.ts";

/** Time between two checks of the files, in milliseconds. */
const CHECK_MS = 10_000;

/** Content of files, which can be read again. */
export interface Refreshable {
  /** Resolves with the paths of those that have changed. */
  refresh(): Promise<readonly string[]>;
}

/**
 * Has files read again when they change, until the returned function is called. A file
 * with an error changes nothing, and the error is logged.
 */
export function keepFresh(files: Refreshable, log: Logger): () => void {
  let problem = "";
  const check = async () => {
    try {
      const changed = await files.refresh();
      problem = "";
      for (const path of changed) log.info("credentials or rules have changed", { path });
    } catch (err) {
      // Once for each thing that is wrong, not every ten seconds.
      if (String(err) === problem) return;
      problem = String(err);
      log.error("credentials or rules cannot be read; the former ones stay in use", { err });
    }
  };
  // An address may not have answered yet.
  void check();
  const timer = setInterval(() => void check(), CHECK_MS).unref();
  return () => clearInterval(timer);
}
