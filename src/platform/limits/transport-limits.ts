/**
 * Limits of connections and of what comes on them that no setting changes: docs/limits.md has all limits in one table.
 */
export const TRANSPORT_LIMITS = {
  /** Bytes of an HTTP request's head, its URL included. */
  headBytes: 16 * 1024,
  /** Bytes and entries of a gRPC call's headers. */
  metadataBytes: 64 * 1024 - 1,
  metadataEntries: 128,
  /**
   * Bytes that are still read over one HTTP/2 connection, beyond its streams' windows, of all requests whose answers
   * are sent before they have ended.
   */
  lateBytes: 16 * 1024 * 1024,
  /** Connections of the port for administration, and of that for metrics. */
  sideConnections: 64,
  /** Connections of the Unix socket. */
  unixConnections: 1024,
  /** Requests of one HTTP connection at a time; what its client sends ahead waits in the socket. */
  requestsAhead: 4,
  /**
   * Calls of one gRPC connection at a time, if no channel argument says otherwise; its others wait at the client.
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
  /** Silence after which the client of a stream of events is told that it lives, in milliseconds. */
  eventPingMs: 15_000,
  /** Time between two pings of a gRPC connection, in milliseconds, if no channel argument says otherwise. */
  pingIntervalMs: 60_000,
  /**
   * Pings and other frames without use that a gRPC connection may send, beside some for each call and each second:
   * clients send a ping every few seconds at most.
   */
  idlePings: 1000,
} as const;

/** Window of one HTTP/2 stream, in bytes: the default of 64 KB triples the time of a photo. */
export const STREAM_WINDOW_BYTES = 1024 * 1024;

/** Window of one HTTP/2 connection, for all its streams together, in bytes. */
export const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;

/** Windows of a connection and its streams, in bytes. */
export const WINDOWS = {
  streamWindowBytes: STREAM_WINDOW_BYTES,
  connectionWindowBytes: CONNECTION_WINDOW_BYTES,
  // Paused streams of a client do not hold up its others, unless there are very many.
  maxConnectionWindowBytes: 4 * CONNECTION_WINDOW_BYTES,
} as const;

/**
 * Time for the beginning of a connection, in milliseconds: until its protocol is known, until an HTTP/2 connection is
 * set up, and for the head of an HTTP request. It allows for several lost packets; slower clients occupy a connection
 * in vain.
 */
export const HANDSHAKE_TIMEOUT_MS = 20_000;

/**
 * Time that connections which clients opened just before the ports closed have for a first request, in milliseconds,
 * if clients were asked to leave: proxies that ask no health checks open some until then.
 */
export const LAST_CALL_MS = 500;

/**
 * Maximum size of a request that does not run a model, in bytes, unless it contains
 * files: it has a few names and settings.
 */
export const SMALL_REQUEST_BYTES = 64 * 1024;
