/** An HTTP request of a route that a hook file declares, as its hook receives it. */
export interface RawRequest {
  readonly method: string;
  /** The URL's path, as it was sent. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names in lower case; without `Authorization`, `Proxy-Authorization` and `Cookie`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The header `Content-Type` as it was sent; empty if there is none. */
  readonly contentType: string;
  /** The header `Accept` as it was sent; empty if there is none. */
  readonly accept: string;
  /** The body, inflated if it was compressed. */
  readonly body: Buffer;
  /** The body as JSON; throws `invalid_argument` if it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: only the user's own code knows its type
  json(): any;
}

/** Answer of a hook to a {@link RawRequest}. Further headers are those of `ctx.response.metadata`. */
export interface RawAnswer {
  /** Default 200. */
  readonly status?: number;
  /** Default: `text/plain` of a text, `application/octet-stream` of bytes, `application/json` of an object. */
  readonly contentType?: string;
  /** A text, bytes, or an object to be sent as JSON, in which tensors become nested lists. Default: no body. */
  readonly body?: string | Uint8Array | object;
}

/**
 * An HTTP route of a hook file: its requests reach the hook as they were sent, in place of any protocol of the server.
 */
export interface ContextRoute<Context> {
  /** The whole path, such as `/score`. */
  readonly path: string;
  /** Default POST. GET also answers HEAD. */
  readonly methods?: readonly RawMethod[];
  answer(request: RawRequest, ctx: Context): RawAnswer | Promise<RawAnswer>;
}

/** Methods that a route may have. */
export const RAW_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
/** One of {@link RAW_METHODS}. */
export type RawMethod = (typeof RAW_METHODS)[number];
