import { invalidArgument } from "../errors.ts";

/** The client's name and its proof. */
export type Credentials = { readonly token: string } | { readonly user: string; readonly password: string };

/** PEM texts for an encrypted connection over gRPC. */
export interface ClientTls {
  /** Authorities that the server's certificate may be from; absent = those of Node. */
  readonly ca?: string;
  /** The client's own certificate and key, if the server asks for one. */
  readonly cert?: string;
  readonly key?: string;
}

/** Choices for calls that are sent again. */
export interface RetryOptions {
  /** Times that one call is sent at most; default 4. */
  readonly attempts?: number;
  /** The wait before the second, in milliseconds; each further one is twice as long, up to 5 s; default 100. */
  readonly firstDelayMs?: number;
  /**
   * Failures of the whole connection that are borne before retries stop, until ten times
   * as many calls succeed; default 10.
   */
  readonly budget?: number;
}

/** Choices for a connection, which hold for all its calls. */
export interface ConnectOptions {
  readonly credentials?: Credentials;
  /** Headers, or gRPC's metadata, of every call. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Time of a call with its retries, in milliseconds; default none. */
  readonly timeoutMs?: number;
  /** false = none. */
  readonly retries?: RetryOptions | false;
  /** Over gRPC. A browser has its own, and Node's fetch takes NODE_EXTRA_CA_CERTS. */
  readonly tls?: ClientTls;
  /** Over HTTP, in place of the global one. */
  readonly fetch?: typeof fetch;
}

/**
 * Headers of every call: the metadata with `Authorization`. Throws `invalid_argument`
 * for credentials that cannot be sent.
 */
export function headersOf({ credentials, metadata = {} }: ConnectOptions): Readonly<Record<string, string>> {
  const lower = Object.entries(metadata).map(([name, value]) => [name.toLowerCase(), value]);
  const headers = Object.fromEntries(lower) as Record<string, string>;
  if (credentials === undefined) return headers;
  return { ...headers, authorization: toAuthorization(credentials) };
}

function toAuthorization(credentials: Credentials): string {
  if ("token" in credentials) return `Bearer ${credentials.token}`;
  const { user, password } = credentials;
  if (user.includes(":"))
    throw invalidArgument("The user of the credentials has a colon; expected a name without one.");
  const bytes = new TextEncoder().encode(`${user}:${password}`);
  return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}
