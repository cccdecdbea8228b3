/** Limits of an HTTP/2 connection, as this side announces them to its client. */
export interface SessionLimits {
  /** Streams that the client may have at a time. */
  readonly maxConcurrentStreams: number;
  /** Bytes of data that it may send on a stream before the program has taken them; at least the protocol's 65 535. */
  readonly streamWindowBytes: number;
  /**
   * The same for all streams together; and to how much it grows if the program lets some of them wait, which is not to
   * hold up the others.
   */
  readonly connectionWindowBytes: number;
  readonly maxConnectionWindowBytes: number;
  /** Size of a request's headers in bytes, as SETTINGS_MAX_HEADER_LIST_SIZE counts it, and their number. */
  readonly maxHeaderBytes: number;
  readonly maxHeaders: number;
}

/** Limits of HTTP/2 connections that a server's user may set; absent = the server's own. */
export interface ConnectionRules {
  /** Maximum number of concurrent calls on one connection. */
  readonly maxConcurrentStreams?: number;
  /**
   * Age after which a connection takes no new calls, in milliseconds; varied by a tenth, so that clients do not all
   * reconnect at once.
   */
  readonly maxAgeMs?: number;
  /** Grace period for its calls from then on, in milliseconds. */
  readonly maxAgeGraceMs?: number;
  /** Time without a call after which a connection is ended, in milliseconds. */
  readonly maxIdleMs?: number;
  /** Time between two pings, in milliseconds. */
  readonly pingIntervalMs?: number;
  /** Time that a client has to answer a ping, in milliseconds. */
  readonly pingTimeoutMs?: number;
}
