import type { Socket } from "node:net";
import { TurnClient } from "./waiting-work.ts";

/** The client of a connection from an address; undefined if it is not to make room for others. */
export type ClientOfAddress = (address: string) => string | undefined;

/** Facts about a connection that its transport knows. */
interface ConnectionUse {
  /** True while a request is under way on it. */
  readonly isBusy: () => boolean;
  /** True while the server works for one of its requests, rather than waiting for its client. */
  readonly isWorking: () => boolean;
  /** Bytes that have come and gone on it. */
  readonly movedBytes: () => number;
  /** Ends it, in its protocol's form. */
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
export class OpenConnections {
  readonly #clientOf: ClientOfAddress;
  readonly #quiet: QuietConnections;
  readonly #clients = new Map<string, ClientSockets>();
  #size = 0;
  readonly #idle: Search = { mayEnd: isIdle, above: 0, until: 0 };
  readonly #still: Search = { mayEnd: (socket) => this.#quiet.has(socket), above: 0, until: 0 };

  constructor(clientOf: ClientOfAddress, lookMs?: number) {
    this.#clientOf = clientOf;
    this.#quiet = new QuietConnections(lookMs);
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
    return this.#endOldest(newcomer, { above: 0, sparesUnnamed: false }, this.#idle);
  }

  /** Ends one as {@link endIdle} does, if its client has more than the newcomer's is to have then. */
  endIdleOfGreater(newcomer: Socket): boolean {
    const wish = this.#wishOf(newcomer);
    return wish !== undefined && this.#endOldest(newcomer, wish, this.#idle);
  }

  /**
   * Ends a busy connection on which next to nothing moves while the server waits for its client, such as one with a
   * stream that is not used, as {@link endIdleOfGreater} does an idle one. It is found some seconds after the first
   * call: there was no look before.
   */
  endQuiet(newcomer: Socket): boolean {
    const wish = this.#wishOf(newcomer);
    if (wish === undefined) return false;
    this.#quiet.look(this.#clients.values());
    return this.#endOldest(newcomer, wish, this.#still);
  }

  /** Undefined for a client that has as much as others, without a look at all of them for each of its connections. */
  #wishOf(newcomer: Socket): Wish | undefined {
    const own = this.#clients.get(this.#client(newcomer))?.size ?? 0;
    return own * this.#clients.size < this.#size ? { above: own + 1, sparesUnnamed: true } : undefined;
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

  #endOldest(newcomer: Socket, { above, sparesUnnamed }: Wish, search: Search): boolean {
    // A flood must not cost a search for each of its connections, nor spoil the wider search of a client with fewer.
    if (above >= search.above && performance.now() < search.until) return false;
    const tried = new Set(sparesUnnamed ? [UNNAMED] : []);
    while (tried.size < MAX_TRIED) {
      const client = this.#greatest(above, tried);
      if (client === undefined) break;
      for (const socket of this.#clients.get(client) ?? []) {
        if (socket !== newcomer && search.mayEnd(socket)) return this.#end(client, socket);
      }
      tried.add(client);
    }
    search.above = above;
    search.until = performance.now() + FRUITLESS_MS;
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

  #end(client: string, socket: Socket): true {
    const use = uses.get(socket);
    this.#remove(client, socket);
    if (use === undefined) socket.destroy();
    else use.end();
    return true;
  }
}

function isIdle(socket: Socket): boolean {
  return uses.get(socket)?.isBusy() !== true;
}

/** Busy connections on which next to nothing moves, as far as they were asked for. */
class QuietConnections {
  readonly #lookMs: number;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** Bytes of each at the last look. */
  #movedBytes = new WeakMap<Socket, number>();
  #quiet = new WeakSet<Socket>();

  constructor(lookMs = LOOK_MS) {
    this.#lookMs = lookMs;
  }

  /** Checks if a connection was found, and still waits for its client, of whom next to nothing has come since. */
  has(socket: Socket): boolean {
    const use = uses.get(socket);
    if (use === undefined || !this.#quiet.has(socket) || use.isWorking()) return false;
    return use.movedBytes() - (this.#movedBytes.get(socket) ?? 0) <= (QUIET_RATE * LOOK_MS) / 1000;
  }

  /** Compares with the last look, if that is some time ago, but not too long. */
  look(clients: Iterable<Iterable<Socket>>): void {
    const now = performance.now();
    const ms = now - this.#lookedAt;
    if (ms < this.#lookMs) return;
    const maxBytes = ms > LOOK_AGAIN_MS ? -1 : (QUIET_RATE * ms) / 1000;
    const before = this.#movedBytes;
    this.#movedBytes = new WeakMap();
    this.#quiet = new WeakSet();
    this.#lookedAt = now;
    for (const sockets of clients) {
      for (const socket of sockets) this.#lookAt(socket, before.get(socket) ?? Number.NEGATIVE_INFINITY, maxBytes);
    }
  }

  #lookAt(socket: Socket, before: number, maxBytes: number): void {
    const use = uses.get(socket);
    if (use === undefined) return;
    const bytes = use.movedBytes();
    this.#movedBytes.set(socket, bytes);
    if (bytes - before <= maxBytes) this.#quiet.add(socket);
  }
}

/** Conditions for connections that may be ended. */
interface Wish {
  /** Those of clients with more than so many. */
  readonly above: number;
  /** True if those without a client stay. */
  readonly sparesUnnamed: boolean;
}

/** A search for connections of a kind; the last one that found none, and the time until which that is believed. */
interface Search {
  readonly mayEnd: (socket: Socket) => boolean;
  above: number;
  until: number;
}

/** The connections without a client. */
const UNNAMED = "";
/** Clients that are asked for an idle connection before the newcomer is refused. */
const MAX_TRIED = 64;
/** Time in which no connection is looked for after none was found, in milliseconds. */
const FRUITLESS_MS = 50;
/** Milliseconds between two looks at busy connections, at least, and at most if the first one is to count. */
const [LOOK_MS, LOOK_AGAIN_MS] = [2000, 120_000];
/** Bytes per second below which a busy connection may make room for others. */
const QUIET_RATE = 256;
