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
  /**
   * A text, bytes, or an object to be sent as JSON, in which tensors become nested lists. A generator, or anything else
   * to be read by `for await`, is a body whose parts are sent as they are made. Default: no body.
   */
  readonly body?: string | Uint8Array | RawParts | object;
}

/** The parts of a body. It is left by `return()` when the client leaves. */
export type RawParts = AsyncIterable<RawPart> | Generator<RawPart | Promise<RawPart>, void, undefined>;

/** A part of a body: bytes and texts are sent as they are. */
export type RawPart = string | Uint8Array | RawEvent;

/** One of Server-Sent Events, with at least one member. */
export interface RawEvent {
  /** A text, or a value to be sent as JSON. */
  readonly data?: unknown;
  /** Its type, which a browser calls `message` if it is absent. */
  readonly event?: string;
  /** Sent as `Last-Event-ID` by a client that connects again. */
  readonly id?: string;
  /** Time after which a client connects again, in milliseconds. */
  readonly retry?: number;
  /** A text that no client shows. */
  readonly comment?: string;
}

/**
 * An HTTP route of a hook file: its requests reach the hook as they were sent, in place of any protocol of the server.
 */
export interface ContextRoute<Context> {
  /** The whole path, such as `/score`. */
  readonly path: string;
  /** Default POST. GET also answers HEAD. */
  readonly methods?: readonly RawMethod[];
  /** Parts alone, as of `async *answer`, have the status 200 and the media type of the first one. */
  answer(request: RawRequest, ctx: Context): RawAnswer | Promise<RawAnswer> | RawParts;
}

/** Methods that a route may have. */
export const RAW_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
/** One of {@link RAW_METHODS}. */
export type RawMethod = (typeof RAW_METHODS)[number];
