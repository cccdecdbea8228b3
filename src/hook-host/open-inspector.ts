import { close, open, url } from "node:inspector";
import type { Logger } from "../observability/logger.ts";

/** Port at which debuggers look for a program; further threads take the ports after it. */
const FIRST_PORT = 9229;
const PORTS = 100;

/**
 * Lets a debugger attach to this thread alone, and tells the log where. On this machine only: whoever attaches can run anything.
 * Returns how to send it away, without which the thread's end would wait until it goes by itself.
 */
export function openInspector(log: Logger): () => void {
  for (let port = FIRST_PORT; port < FIRST_PORT + PORTS; port++) {
    open(port, "127.0.0.1");
    // A port in use throws nothing.
    if (url() === undefined) continue;
    log.info("a debugger can attach to the hooks", { port, url: url() });
    return close;
  }
  log.warn(`no debugger can attach to the hooks: the ports from ${FIRST_PORT} on are in use`);
  return close;
}
