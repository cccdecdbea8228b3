import type { Server, Socket } from "node:net";
import { DescriptorReserve } from "./descriptors.ts";
import { OpenConnections } from "./open-connections.ts";
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

  /** Adds a connection where there is a descriptor for it; false where it was refused. */
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
