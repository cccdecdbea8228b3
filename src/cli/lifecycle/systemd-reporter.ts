import { reasonText } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import type { Environment } from "../settings/environment.ts";
import type { StatusReporter } from "../status-reporter/status-reporter.ts";
import { supervised } from "../supervisor/supervised.ts";

/**
 * Reports the program's state to systemd (sd_notify(3)), and that its main thread is
 * alive where the unit has a watchdog.
 */
export interface SystemdReporter extends Partial<StatusReporter> {
  /** Hooks and models are being read again, or have been. */
  reloading(isOver: boolean): void;
}

/** Opens the reporter where systemd waits for it; undefined elsewhere. Child processes do not inherit the socket. */
export async function openSystemdReporter(
  env: Environment & NodeJS.ProcessEnv,
  log: Logger,
): Promise<SystemdReporter | undefined> {
  const { NOTIFY_SOCKET: path, WATCHDOG_USEC: watchdog, WATCHDOG_PID: watched } = env;
  if (path === undefined || path === "") return undefined;
  for (const name of ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]) delete env[name];
  const starter = supervised();
  // systemd listens to the process alone that it has started.
  const send = starter === undefined ? await open(path, log) : (notify: string) => void starter.tell({ notify, path });
  if (send === undefined) return undefined;
  const isWatched = watched === undefined || watched === String(starter === undefined ? process.pid : process.ppid);
  if (isWatched && Number(watchdog) > 0) setInterval(() => send("WATCHDOG=1"), Number(watchdog) / 2000).unref();
  return {
    loading: (models) => send(`STATUS=Loading ${models.length === 1 ? "a model" : `${models.length} models`}`),
    ready: ({ grpcAddress, httpUrl }) =>
      send(`READY=1\nSTATUS=Serving gRPC at ${grpcAddress}${httpUrl === undefined ? "" : `, HTTP at ${httpUrl}`}`),
    reloading: (isOver) => send(isOver ? "READY=1" : `RELOADING=1\nMONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`),
    retiring: (delayMs) => send(`STOPPING=1\nSTATUS=Not ready any more; stopping in ${delayMs / 1000} s`),
    draining: (count) => send(`STOPPING=1\nSTATUS=Finishing ${count} requests`),
    cutOff: (requests, why) => send(`STATUS=${requests.length} requests cut off: ${why}`),
  };
}

async function open(path: string, log: Logger): Promise<((text: string) => void) | undefined> {
  try {
    const { openDatagrams } = await import("../../native/send-datagram.ts");
    return openDatagrams(path);
  } catch (reason) {
    log.warn(`the state of the program is not reported to systemd: ${reasonText(reason)}`);
    return undefined;
  }
}
