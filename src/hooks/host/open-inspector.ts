import { close, open, url } from "node:inspector";
import type { Logger } from "../../observability/logger.ts";

/** Default port of debuggers; further threads use the ports after it. */
const FIRST_PORT = 9229;
const PORTS = 100;

/**
 * Lets a debugger attach to this thread only, and logs the address. Only on this machine: a debugger can run any code.
 * Returns a function that disconnects it; otherwise the thread's end would wait for that.
 */
export function openInspector(log: Logger): () => void {
  for (let port = FIRST_PORT; port < FIRST_PORT + PORTS; port++) {
    open(port, "127.0.0.1");
    // No error is thrown for a port in use.
    if (url() === undefined) continue;
    log.info("a debugger can attach to the hooks", { port, url: url() });
    return close;
  }
  log.warn(`no debugger can attach to the hooks: the ports from ${FIRST_PORT} on are in use`);
  return close;
}
