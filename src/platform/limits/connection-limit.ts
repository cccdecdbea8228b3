import { readdirSync, readFileSync } from "node:fs";
import type { Server, Socket } from "node:net";
import { ServingError } from "../../errors.ts";
import { type ClientOfAddress, OpenConnections, turnClientOf } from "./open-connections.ts";
import { ThreadCounts } from "./thread-counts.ts";
import type { TurnClient } from "./waiting-work.ts";

/** Reason for which a connection was refused, or another one ended for it. */
export type ConnectionProblem =
  | { readonly kind: "full"; readonly open: number }
  | { readonly kind: "shared"; readonly open: number }
  | { readonly kind: "quiet"; readonly open: number }
  | { readonly kind: "side"; readonly open: number }
  | { readonly kind: "descriptors"; readonly max: number; readonly hasEnded: boolean }
  | { readonly kind: "accept"; readonly error: NodeJS.ErrnoException };

/** Options of a {@link ConnectionLimit}. */
interface ConnectionLimitOptions {
  /** Number of connections; 0 = no limit. */
  readonly max: number;
  /** Called for each connection that is refused, or ended. */
  readonly onProblem: (problem: ConnectionProblem) => void;
  /** Default: the address itself. */
  readonly clientOf?: ClientOfAddress;
  /** Those of several threads together. */
  readonly counts?: ThreadCounts | undefined;
  readonly descriptors?: DescriptorReserve;
  /** Time over which busy connections are looked at, in milliseconds. Default 2000. */
  readonly lookMs?: number;
}

/** Limits the connections of all ports of a server together, and leaves descriptors for everything else. */
export class ConnectionLimit {
  readonly #max: number;
  readonly #onProblem: (problem: ConnectionProblem) => void;
  readonly #newOpen: () => OpenConnections;
  readonly #counts: ThreadCounts;
  readonly #open: OpenConnections;
  readonly #descriptors: DescriptorReserve;
  readonly #inner = new InnerConnections();

  constructor({
    max,
    onProblem,
    clientOf = (address) => address,
    counts = new ThreadCounts(ThreadCounts.memoryFor(1), 0),
    descriptors = new DescriptorReserve(),
    lookMs,
  }: ConnectionLimitOptions) {
    this.#max = max;
    this.#onProblem = onProblem;
    this.#newOpen = () => new OpenConnections(clientOf, lookMs);
    this.#open = this.#newOpen();
    this.#counts = counts;
    this.#descriptors = descriptors;
  }

  /**
   * Counts the connections of a server that listens. If there are too many, the oldest idle one of the client that
   * has most makes room for a client that has fewer, or the oldest on which next to nothing moves; else the newcomer is
   * reset at once, before anything is kept of it.
   */
  guard(server: Server): void {
    server.prependListener("connection", (socket: Socket) => this.#take(socket));
    server.on("error", (error: NodeJS.ErrnoException) => this.#onProblem({ kind: "accept", error }));
  }

  /** The limit of a port that others do not fill: an idle connection makes room for another. */
  ofSidePort(max: number): Pick<ConnectionLimit, "guard"> {
    const own = this.#newOpen();
    const take = (socket: Socket) => {
      const isFull = own.size >= max;
      const hasEnded = isFull && (own.endIdle(socket) || own.endQuiet(socket));
      if (isFull && !hasEnded) this.#refuse(socket, { kind: "side", open: own.size });
      else if (this.#keep(socket, hasEnded)) own.add(socket);
    };
    return { guard: (server) => void server.prependListener("connection", take) };
  }

  /**
   * Opens a connection between threads for what comes over a client's, which takes two descriptors. Throws
   * `unavailable` if only those are left that others need, `resource_exhausted` if the client has its share;
   * `threads`: of these, as many open some.
   */
  openInner(client: Socket, threads: number, open: () => Socket): Socket {
    const max = this.#descriptors.takeInner();
    try {
      if (max !== undefined && !this.#open.endIdle(client) && !this.#open.endQuiet(client)) throw noDescriptors(max);
      return this.#inner
        .open(turnClientOf(client), this.#descriptors.max / threads, open)
        .once("close", () => this.#descriptors.leaveInner());
    } catch (reason) {
      this.#descriptors.leaveInner();
      throw reason;
    }
  }

  #take(socket: Socket): void {
    const max = this.#max;
    if (max === 0) return void this.#keep(socket);
    const { isIn, count } = this.#counts.enter(max);
    if (!isIn) {
      const kind = this.#makeRoom(socket);
      this.#onProblem({ kind, open: count });
      if (kind === "full") return void socket.resetAndDestroy();
      // The one that was ended leaves soon; this one is counted until then, too.
      this.#counts.enter(Number.POSITIVE_INFINITY);
    }
    socket.once("close", () => this.#counts.leave());
    this.#keep(socket, !isIn);
  }

  #makeRoom(newcomer: Socket): "shared" | "quiet" | "full" {
    if (this.#open.endIdleOfGreater(newcomer)) return "shared";
    return this.#open.endQuiet(newcomer) ? "quiet" : "full";
  }

  #refuse(socket: Socket, problem: ConnectionProblem): void {
    socket.resetAndDestroy();
    this.#onProblem(problem);
  }

  /**
   * Adds a connection if there is a descriptor for it, such as that of one that `hasMadeRoom` for it; false if it was
   * refused.
   */
  #keep(socket: Socket, hasMadeRoom = false): boolean {
    const max = this.#descriptors.take();
    const hasEnded = max !== undefined && (hasMadeRoom || this.#open.endIdle(socket) || this.#open.endQuiet(socket));
    if (max !== undefined && !hasEnded) {
      this.#refuse(socket, { kind: "descriptors", max, hasEnded });
      return false;
    }
    if (max !== undefined) this.#onProblem({ kind: "descriptors", max, hasEnded });
    this.#open.add(socket);
    return true;
  }
}

function noDescriptors(max: number): ServingError {
  const text = `The server has no more room for this request: ${max} descriptors are nearly used up (ulimit -n); send it again later.`;
  return new ServingError("unavailable", text);
}

/** Part of the descriptors that connections inside of the process may take before each client has its share of them. */
const INNER_PART = 4;
/** Connections inside of the process that a client may have in any case. */
const LEAST_INNER = 8;

/** Connections inside of the process by the clients for which they were opened. */
class InnerConnections {
  readonly #clients = new Map<TurnClient, number>();

  /** `descriptors`: those of all that this thread may have. */
  open(client: TurnClient, descriptors: number, open: () => Socket): Socket {
    const own = this.#clients.get(client) ?? 0;
    // Each takes two.
    if (own >= Math.max(LEAST_INNER, descriptors / (2 * INNER_PART * this.#clients.size)))
      throw new ServingError(
        "resource_exhausted",
        `The client has ${own} requests under way that are passed on in the server, as many as it may have with its descriptors (ulimit -n); send again when one is answered.`,
      );
    const socket = open();
    this.#clients.set(client, own + 1);
    return socket.once("close", () => this.#leave(client));
  }

  #leave(client: TurnClient): void {
    const left = (this.#clients.get(client) ?? 0) - 1;
    if (left > 0) this.#clients.set(client, left);
    else this.#clients.delete(client);
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
  /** Descriptors of connections inside of the process, now and at the last count. */
  #inner = 0;
  #innerThen = 0;

  constructor(count = countDescriptors) {
    this.#count = count;
  }

  /** Counts a new connection; returns the number of descriptors if it takes one of the reserve. */
  take(): number | undefined {
    this.#since++;
    return this.#check();
  }

  /** The same for both ends of a connection inside of the process, which counts until {@link leaveInner}. */
  takeInner(): number | undefined {
    this.#inner += 2;
    return this.#check();
  }

  leaveInner(): void {
    this.#inner -= 2;
  }

  /** The number of all descriptors; infinite where the system does not tell. */
  get max(): number {
    return this.#known?.max ?? Number.POSITIVE_INFINITY;
  }

  #check(): number | undefined {
    if (this.#isOld()) this.#countAgain();
    const { max } = this;
    return this.#used > max - Math.ceil(max / RESERVED_PART) ? max : undefined;
  }

  get #used(): number {
    return (this.#known?.open ?? 0) + this.#since + this.#inner - this.#innerThen;
  }

  #isOld(): boolean {
    if (this.#since >= RECOUNT.connections) return true;
    return this.#used > (this.#known?.max ?? 0) / 2 && performance.now() - this.#countedAt > RECOUNT.ms;
  }

  #countAgain(): void {
    this.#known = this.#count();
    this.#countedAt = performance.now();
    this.#since = 0;
    this.#innerThen = this.#inner;
  }
}
