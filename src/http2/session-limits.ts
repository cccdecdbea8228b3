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
