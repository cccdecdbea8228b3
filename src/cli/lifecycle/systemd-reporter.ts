import { invalidArgument, reasonText } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import type { InheritedSockets } from "../../server/inherited-sockets.ts";
import type { Environment } from "../settings/environment.ts";
import type { StatusReporter } from "../status-reporter/status-reporter.ts";
import { supervised } from "../supervisor/supervised.ts";

/**
 * Reports the program's state to systemd (sd_notify(3)), and that its main thread is
 * alive if the unit has a watchdog.
 */
export interface SystemdReporter extends Partial<StatusReporter> {
  /** Hooks and models are being read again, or have been. */
  reloading(isOver: boolean): void;
}

/** Opens the reporter if systemd waits for it; else undefined. Child processes do not inherit the socket. */
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
    const { openDatagrams } = await import("../../platform/native/send-datagram.ts");
    return openDatagrams(path);
  } catch (reason) {
    log.warn(`the state of the program is not reported to systemd: ${reasonText(reason)}`);
    return undefined;
  }
}

/** The first descriptor that systemd passes (SD_LISTEN_FDS_START). */
const FIRST_FD = 3;
const NAMES = ["grpc", "http", "admin", "metrics"] as const;
const VARIABLES = ["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "LISTEN_PIDFDID"] as const;

/**
 * Takes the listening sockets that systemd passes to the service of a socket unit (sd_listen_fds(3)), by their names; a
 * single one with another name is gRPC's. Removes the variables, which are not for child processes. Throws
 * `invalid_argument` for names that are unknown or given twice.
 */
export function takeInheritedSockets(env: NodeJS.ProcessEnv, log: Pick<Logger, "warn">): InheritedSockets {
  const { LISTEN_FDS: count, LISTEN_PID: pid, LISTEN_FDNAMES: names = "" } = env;
  for (const name of VARIABLES) delete env[name];
  if (count === undefined) return {};
  if (process.platform !== "linux") {
    log.warn("LISTEN_FDS is set: sockets are taken from systemd on Linux alone; the server opens its own");
    return {};
  }
  if (pid !== String(supervised() === undefined ? process.pid : process.ppid)) {
    const hint = "start the program itself, not through npx or a shell";
    log.warn(`sockets from systemd are for the process ${pid}, and this one is ${process.pid}; ${hint}`);
    return {};
  }
  return nameSockets(Number(count), names.split(":"));
}

function nameSockets(count: number, names: readonly string[]): InheritedSockets {
  const sockets: Record<string, number> = {};
  for (let index = 0; index < count; index++) {
    const given = names[index] ?? "";
    const isKnown = NAMES.some((known) => known === given);
    if (!isKnown && count > 1) throw invalidArgument(`systemd passes a socket called "${given}"; ${EXPECTED}`);
    const name = isKnown ? given : "grpc";
    if (sockets[name] !== undefined) throw invalidArgument(`systemd passes two sockets called "${name}"; ${EXPECTED}`);
    sockets[name] = FIRST_FD + index;
  }
  return sockets;
}

const EXPECTED = `expected a unit for each socket, with FileDescriptorName= of its own: ${NAMES.join(", ")}.`;
