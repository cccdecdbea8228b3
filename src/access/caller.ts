/** Origin of a call as the call states it, the same for every transport. */
export interface Caller {
  /** IP address of the connection's other end, with or without a port; empty if it has none. */
  readonly address: string;
  /** `Host`, or HTTP/2's `:authority`. */
  readonly host: string | undefined;
  /** HTTP headers or gRPC metadata, names in lower case. */
  readonly headers: Readonly<Record<string, unknown>>;
  /** Name by which the caller has authenticated; absent for an anonymous caller. */
  readonly user?: string;
  /** The connection, which may have a client's certificate. */
  readonly connection?: object | undefined;
  /** True for a call that came in HTTP/1.0. */
  readonly isHttp10?: boolean;
}

/**
 * Purpose of a route or method: it runs a model, reads about the server, changes it, reads metrics, checks its health,
 * or gets the program of the server's own page, which is the same for everybody.
 */
export type CallKind = "inference" | "read" | "control" | "metrics" | "health" | "page";
