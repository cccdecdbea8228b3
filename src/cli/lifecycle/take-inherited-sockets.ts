import { invalidArgument } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import type { InheritedSockets } from "../../server/inherited-sockets.ts";
import { supervised } from "../supervisor/supervised.ts";

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
