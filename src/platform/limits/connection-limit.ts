import { readdirSync, readFileSync } from "node:fs";
import type { Server, Socket } from "node:net";
import { ThreadCounts } from "./thread-counts.ts";
import { TurnClient } from "./waiting-work.ts";

/** Reason for which a connection was refused, or an idle one ended for it. */
export type ConnectionProblem =
  | { readonly kind: "full"; readonly open: number }
  | { readonly kind: "shared"; readonly open: number }
  | { readonly kind: "side"; readonly open: number }
  | { readonly kind: "descriptors"; readonly max: number; readonly hasEnded: boolean }
  | { readonly kind: "accept"; readonly error: NodeJS.ErrnoException };

/** The client of a connection from an address; undefined if it is not to make room for others. */
type ClientOfAddress = (address: string) => string | undefined;

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
}

/** Limits the connections of all ports of a server together, and leaves descriptors for everything else. */
export class ConnectionLimit {
  readonly #max: number;
  readonly #onProblem: (problem: ConnectionProblem) => void;
  readonly #clientOf: ClientOfAddress;
  readonly #counts: ThreadCounts;
  readonly #open: OpenConnections;
  readonly #descriptors: DescriptorReserve;

  constructor({
    max,
    onProblem,
    clientOf = (address) => address,
    counts = new ThreadCounts(ThreadCounts.memoryFor(1), 0),
    descriptors = new DescriptorReserve(),
  }: ConnectionLimitOptions) {
    this.#max = max;
    this.#onProblem = onProblem;
    this.#clientOf = clientOf;
    this.#open = new OpenConnections(clientOf);
    this.#counts = counts;
    this.#descriptors = descriptors;
  }

  /**
   * Counts the connections of a server that listens. If there are too many, the oldest idle one of the client that
   * has most makes room for a client that has fewer; else the newcomer is reset at once, before anything is kept of it.
   */
  guard(server: Server): void {
    server.prependListener("connection", (socket: Socket) => this.#take(socket));
    server.on("error", (error: NodeJS.ErrnoException) => this.#onProblem({ kind: "accept", error }));
  }

  /** The limit of a port that others do not fill: an idle connection makes room for another. */
  ofSidePort(max: number): Pick<ConnectionLimit, "guard"> {
    const own = new OpenConnections(this.#clientOf);
    const take = (socket: Socket) => {
      if (own.size >= max && !own.endIdle(socket)) this.#refuse(socket, { kind: "side", open: own.size });
      else if (this.#keep(socket)) own.add(socket);
    };
    return { guard: (server) => void server.prependListener("connection", take) };
  }

  #take(socket: Socket): void {
    const max = this.#max;
    if (max === 0) return void this.#keep(socket);
    const { isIn, count } = this.#counts.enter(max);
    const hasEnded = !isIn && this.#open.endIdleOfGreater(socket);
    if (!isIn) this.#onProblem({ kind: hasEnded ? "shared" : "full", open: count });
    if (!isIn && !hasEnded) return void socket.resetAndDestroy();
    // The one that was ended leaves soon; this one is counted until then, too.
    if (hasEnded) this.#counts.enter(Number.POSITIVE_INFINITY);
    socket.once("close", () => this.#counts.leave());
    this.#keep(socket);
  }

  #refuse(socket: Socket, problem: ConnectionProblem): void {
    socket.resetAndDestroy();
    this.#onProblem(problem);
  }

  /** Adds a connection if there is a descriptor for it; false if it was refused. */
  #keep(socket: Socket): boolean {
    const max = this.#descriptors.take();
    const hasEnded = max !== undefined && this.#open.endIdle(socket);
    if (max !== undefined && !hasEnded) {
      this.#refuse(socket, { kind: "descriptors", max, hasEnded });
      return false;
    }
    if (max !== undefined) this.#onProblem({ kind: "descriptors", max, hasEnded });
    this.#open.add(socket);
    return true;
  }
}

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

const turnClients = new WeakMap<Socket, TurnClient>();

/**
 * The client of a connection, which has its turns together with all others of the client. A connection that was not
 * counted, or makes no room for others, such as one of a trusted proxy, has a client alone.
 */
export function turnClientOf(socket: Socket): TurnClient {
  const known = turnClients.get(socket) ?? new TurnClient();
  turnClients.set(socket, known);
  return known;
}

/** Connections of one client, the oldest first. */
class ClientSockets extends Set<Socket> {
  readonly turns = new TurnClient();
}

/** Connections by their clients, in the order of their age. */
class OpenConnections {
  readonly #clientOf: ClientOfAddress;
  readonly #clients = new Map<string, ClientSockets>();
  #size = 0;
  /** The last search that found none, and the time of performance.now() until which that is believed. */
  #fruitless = { above: 0, until: 0 };

  constructor(clientOf: ClientOfAddress) {
    this.#clientOf = clientOf;
  }

  /** Number of connections. */
  get size(): number {
    return this.#size;
  }

  /** Adds one until it closes. */
  add(socket: Socket): void {
    const client = this.#client(socket);
    const sockets = this.#clients.get(client) ?? new ClientSockets();
    this.#clients.set(client, sockets.add(socket));
    if (client !== UNNAMED) turnClients.set(socket, sockets.turns);
    this.#size++;
    socket.once("close", () => this.#remove(client, socket));
  }

  /** Ends an idle connection: of the client that has most of them, and of each the oldest. False if none is found. */
  endIdle(newcomer: Socket): boolean {
    return this.#endOldest(newcomer, { above: 0, sparesUnnamed: false });
  }

  /** Ends one as {@link endIdle} does, if its client has more than the newcomer's is to have then. */
  endIdleOfGreater(newcomer: Socket): boolean {
    const own = this.#clients.get(this.#client(newcomer))?.size ?? 0;
    // Without a look at all clients for each connection of one that has much.
    const isModest = own * this.#clients.size < this.#size;
    return isModest && this.#endOldest(newcomer, { above: own + 1, sparesUnnamed: true });
  }

  #client({ remoteAddress = "" }: Socket): string {
    return this.#clientOf(remoteAddress) ?? UNNAMED;
  }

  #remove(client: string, socket: Socket): void {
    const sockets = this.#clients.get(client);
    if (sockets?.delete(socket) !== true) return;
    this.#size--;
    if (sockets.size === 0) this.#clients.delete(client);
  }

  #endOldest(newcomer: Socket, { above, sparesUnnamed }: Wish): boolean {
    // A flood must not cost a search for each of its connections, nor spoil the wider search of a client with fewer.
    if (above >= this.#fruitless.above && performance.now() < this.#fruitless.until) return false;
    const tried = new Set(sparesUnnamed ? [UNNAMED] : []);
    while (tried.size < MAX_TRIED) {
      const client = this.#greatest(above, tried);
      if (client === undefined) break;
      if (this.#endOldestOf(client, newcomer)) return true;
      tried.add(client);
    }
    this.#fruitless = { above, until: performance.now() + FRUITLESS_MS };
    return false;
  }

  #greatest(above: number, tried: ReadonlySet<string>): string | undefined {
    let greatest: string | undefined;
    let most = above;
    for (const [client, { size }] of this.#clients) {
      if (size <= most || tried.has(client)) continue;
      greatest = client;
      most = size;
    }
    return greatest;
  }

  #endOldestOf(client: string, newcomer: Socket): boolean {
    for (const socket of this.#clients.get(client) ?? []) {
      const use = uses.get(socket);
      if (socket === newcomer || use?.isBusy() === true) continue;
      this.#remove(client, socket);
      if (use === undefined) socket.destroy();
      else use.end();
      return true;
    }
    return false;
  }
}

/** Conditions for connections that may be ended. */
interface Wish {
  /** Those of clients with more than so many. */
  readonly above: number;
  /** True if those without a client stay. */
  readonly sparesUnnamed: boolean;
}

/** The connections without a client. */
const UNNAMED = "";
/** Clients that are asked for an idle connection before the newcomer is refused. */
const MAX_TRIED = 64;
/** Time in which no connection is looked for after none was found, in milliseconds. */
const FRUITLESS_MS = 50;

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
