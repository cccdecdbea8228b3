import type { Logger } from "../../observability/logger.ts";
import type { ProxyTargets } from "./proxy-targets.ts";

/** Time for the first connection, in milliseconds. */
const CONNECT_MS = 1000;

/**
 * Logs that the server behind a proxy cannot be reached, from its start on or later,
 * and that it can be again; returns how to stop that.
 */
export function watchTarget(
  target: Pick<ProxyTargets, "toService" | "whyUnreachable">,
  grpcAddress: string,
  log: Logger,
): () => void {
  let known: boolean | undefined;
  let current = false;
  const warn = async () => {
    const reason = await target.whyUnreachable().catch(() => undefined);
    if (known) return;
    const about = { grpcAddress, ...(reason !== undefined && { reason }) };
    log.warn("the server behind this proxy cannot be reached: requests fail", about);
  };
  const tell = () => {
    if (known === current) return;
    if (!current) void warn();
    else if (known === false) log.info("the server behind this proxy can be reached", { grpcAddress });
    known = current;
  };
  const stop = target.toService().onReadiness((isReady) => {
    current = isReady;
    if (isReady || known !== undefined) tell();
  });
  const first = setTimeout(tell, CONNECT_MS).unref();
  return () => {
    clearTimeout(first);
    stop();
  };
}
