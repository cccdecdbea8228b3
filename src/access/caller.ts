/** What a call tells of where it comes from, the same for every transport. */
export interface Caller {
  /** IP address of the connection's other end, with or without a port; empty where it has none. */
  readonly address: string;
  /** `Host`, or HTTP/2's `:authority`. */
  readonly host: string | undefined;
  /** HTTP headers or gRPC metadata, names in lower case. */
  readonly headers: Readonly<Record<string, unknown>>;
  /** Whether the call came in HTTP/1.0. */
  readonly isHttp10?: boolean;
}

/** What a route or method does: runs a model, tells something, or changes the server. */
export type CallKind = "inference" | "read" | "control";
