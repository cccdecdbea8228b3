import { readdirSync, readFileSync } from "node:fs";
import type { Server, Socket } from "node:net";
import { ThreadCounts } from "./thread-counts.ts";

/** Reason for which a connection was refused, or an idle one ended for it. */
export type ConnectionProblem =
  | { readonly kind: "full"; readonly open: number }
  | { readonly kind: "side"; readonly open: number }
  | { readonly kind: "descriptors"; readonly max: number; readonly hasEnded: boolean }
  | { readonly kind: "accept"; readonly error: NodeJS.ErrnoException };

/** Limits the connections of all ports of a server together, and leaves descriptors for everything else. */
export class ConnectionLimit {
  readonly #max: number;
  readonly #onProblem: (problem: ConnectionProblem) => void;
  readonly #counts: ThreadCounts;
  readonly #open = new OpenConnections();
  readonly #descriptors: DescriptorReserve;

  /**
   * `max` 0 = no limit. `onProblem` is called for each connection that is refused, or ended. `counts`: those of several
   * threads together.
   */
  constructor(
    max: number,
    onProblem: (problem: ConnectionProblem) => void,
    counts = new ThreadCounts(ThreadCounts.memoryFor(1), 0),
    descriptors = new DescriptorReserve(),
  ) {
    this.#max = max;
    this.#onProblem = onProblem;
    this.#counts = counts;
    this.#descriptors = descriptors;
  }

  /**
   * Counts the connections of a server that listens. One beyond the limit is reset at once, before anything is kept of
   * it; where descriptors come to an end, the oldest idle one makes room, if any.
   */
  guard(server: Server): void {
    server.prependListener("connection", (socket: Socket) => this.#take(socket));
    server.on("error", (error: NodeJS.ErrnoException) => this.#onProblem({ kind: "accept", error }));
  }

  /** The limit of a port that others do not fill: its oldest idle connection makes room for another. */
  ofSidePort(max: number): Pick<ConnectionLimit, "guard"> {
    const own = new OpenConnections();
    const take = (socket: Socket) => {
      if (own.size >= max && !own.endOldestIdle(socket)) this.#refuse(socket, { kind: "side", open: own.size });
      else if (this.#keep(socket)) own.add(socket);
    };
    return { guard: (server) => void server.prependListener("connection", take) };
  }

  #take(socket: Socket): void {
    const { isIn, count } = this.#max === 0 ? UNLIMITED : this.#counts.enter(this.#max);
    if (!isIn) {
      this.#refuse(socket, { kind: "full", open: count });
      return;
    }
    if (this.#max > 0) socket.once("close", () => this.#counts.leave());
    this.#keep(socket);
  }

  #refuse(socket: Socket, problem: ConnectionProblem): void {
    socket.resetAndDestroy();
    this.#onProblem(problem);
  }

  /** Adds a connection if there is a descriptor for it; false if it was refused. */
  #keep(socket: Socket): boolean {
    const max = this.#descriptors.take();
    const hasEnded = max !== undefined && this.#open.endOldestIdle(socket);
    if (max !== undefined && !hasEnded) {
      this.#refuse(socket, { kind: "descriptors", max, hasEnded });
      return false;
    }
    if (max !== undefined) this.#onProblem({ kind: "descriptors", max, hasEnded });
    this.#open.add(socket);
    return true;
  }
}

const UNLIMITED = { isIn: true, count: 0 };

/** Facts about a connection that its transport knows. */
interface ConnectionUse {
  /** True while a request is under way on it. */
  readonly isBusy: () => boolean;
  /** Ends it while it is idle, in its protocol's form. */
  readonly end: () => void;
}

const uses = new WeakMap<Socket, ConnectionUse>();

/** Tells what a connection is used for; until then it is idle, such as one that has sent nothing yet. */
export function describeConnection(socket: Socket, use: ConnectionUse): void {
  uses.set(socket, use);
}

/** Connections in the order of their age. */
class OpenConnections {
  readonly #sockets = new Set<Socket>();

  /** Number of connections. */
  get size(): number {
    return this.#sockets.size;
  }

  /** Adds one until it closes. */
  add(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
  }

  /** Ends the oldest one that is idle, other than a new one; returns false if none is. */
  endOldestIdle(newcomer: Socket): boolean {
    for (const socket of this.#sockets) {
      const use = uses.get(socket);
      if (socket === newcomer || use?.isBusy() === true) continue;
      this.#sockets.delete(socket);
      if (use === undefined) socket.destroy();
      else use.end();
      return true;
    }
    return false;
  }
}

/** Open files and sockets of the process, and how many it may have; undefined if the system does not tell. */
export interface DescriptorCount {
  readonly open: number;
  readonly max: number;
}

/** Counts them: by Linux alone, in a millisecond for some thousands. */
export function countDescriptors(): DescriptorCount | undefined {
  try {
    const max = Number(/^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1]);
    return Number.isFinite(max) ? { open: readdirSync("/proc/self/fd").length, max } : undefined;
  } catch {
    // Also if there is no descriptor left to read them with.
    return undefined;
  }
}

/** Part of all descriptors that connections leave to files, models and threads. */
export const RESERVED_PART = 16;
/** Connections after which they are counted again, and the time for which a count near the limit is believed. */
const RECOUNT = { connections: 64, ms: 50 };

/** Descriptors that are left for connections, by counts that are made now and then. */
export class DescriptorReserve {
  readonly #count: typeof countDescriptors;
  #known: DescriptorCount | undefined;
  #countedAt = Number.NEGATIVE_INFINITY;
  /** Connections since the last count. */
  #since = 0;

  constructor(count = countDescriptors) {
    this.#count = count;
  }

  /** Counts a new connection; returns the number of descriptors if it takes one of the reserve. */
  take(): number | undefined {
    this.#since++;
    if (this.#isOld()) this.#countAgain();
    if (this.#known === undefined) return undefined;
    const { open, max } = this.#known;
    return open + this.#since > max - Math.ceil(max / RESERVED_PART) ? max : undefined;
  }

  #isOld(): boolean {
    if (this.#since >= RECOUNT.connections) return true;
    const { open, max } = this.#known ?? { open: 0, max: 0 };
    return open + this.#since > max / 2 && performance.now() - this.#countedAt > RECOUNT.ms;
  }

  #countAgain(): void {
    this.#known = this.#count();
    this.#countedAt = performance.now();
    this.#since = 0;
  }
}
