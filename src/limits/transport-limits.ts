/**
 * Limits of connections and of what comes on them that no setting changes: docs/limits.md has all limits in one table.
 */
export const TRANSPORT_LIMITS = {
  /** Bytes of an HTTP request's head, its URL included. */
  headBytes: 16 * 1024,
  /** Bytes and entries of a gRPC call's headers. */
  metadataBytes: 64 * 1024 - 1,
  metadataEntries: 128,
  /** Connections of the port for administration, and of that for metrics. */
  sideConnections: 64,
  /** Connections of the Unix socket. */
  unixConnections: 1024,
  /** Requests of one HTTP connection at a time; what its client sends ahead waits in the socket. */
  requestsAhead: 4,
  /**
   * Calls of one gRPC connection at a time, where no channel argument says otherwise; its others wait at the client.
   */
  concurrentCalls: 256,
  /** Time that a message or body may take to arrive, in milliseconds. */
  messageMs: 300_000,
  /**
   * Time after its last answer for which a client may use an HTTP connection again, in milliseconds, as
   * `Keep-Alive: timeout=` says. Above the 60 s of common load balancers: one that closes first never sends a request
   * into a closing connection.
   */
  keepAliveMs: 75_000,
  /** Time between two pings of a gRPC connection, in milliseconds, where no channel argument says otherwise. */
  pingIntervalMs: 60_000,
  /**
   * Pings in a row, without any call between them, after which a connection is ended:
   * clients send one every few seconds at most.
   */
  idlePings: 1000,
} as const;
