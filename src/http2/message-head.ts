import { isLegalField } from "./header-field.ts";
import type { HeaderList } from "./hpack-decoder.ts";
import type { SentHeaders } from "./hpack-encoder.ts";

/** Header fields by name; several of one name as one value, joined as HTTP does; not to be changed. */
export type ReceivedFields = Readonly<Record<string, string | undefined>>;

/** The headers of a request, which calls of the same headers share. */
export interface RequestHead {
  readonly byName: ReceivedFields;
  /** Each name followed by its value, as they came. */
  readonly raw: readonly string[];
  /** Bytes of data that the client has announced; undefined = it does not say. */
  readonly contentLength: number | undefined;
}

/** Makes an object without a prototype that V8 nevertheless keeps as one with a shape. */
const Fields = makeFields as unknown as new () => Record<string, string>;
Fields.prototype = Object.create(null);

function makeFields(): void {}

/** Fields of a connection (RFC 9110 §7.6.1), which HTTP/2 forbids (RFC 9113 §8.2.2). */
export const OF_CONNECTION: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);
/** Pseudo-header fields of requests (RFC 9113 §8.3.1). */
const PSEUDO: ReadonlySet<string> = new Set([":authority", ":method", ":path", ":scheme"]);
const COLON = 58;
/** At most 15 digits: a number that JavaScript has exactly. */
const LENGTH = /^\d{1,15}$/;
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*$/;
/** Characters of a target (RFC 3986), and bytes that its server may decode; a blank would end it in HTTP/1.1. */
const TARGET = /^[\x21-\x7e\x80-\xff]*$/;
const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Reads the headers of a request; undefined if it is malformed (RFC 9113 §8.1.1 to §8.5). */
export function readRequestHead({ fields }: HeaderList): RequestHead | undefined {
  const byName = new Fields();
  const raw: string[] = [];
  let isPseudoOver = false;
  for (const { name, value, isLegal } of fields) {
    if (!isLegal || OF_CONNECTION.has(name) || (name === "te" && value !== "trailers")) return undefined;
    const before = byName[name];
    if (name.charCodeAt(0) === COLON) {
      if (isPseudoOver || before !== undefined || !PSEUDO.has(name)) return undefined;
    } else isPseudoOver = true;
    byName[name] = before === undefined ? value : `${before}${name === "cookie" ? "; " : ", "}${value}`;
    raw.push(name, value);
  }
  if (!isTarget(byName) || !isOneHost(byName)) return undefined;
  const length = byName["content-length"];
  if (length === undefined) return { byName, raw, contentLength: undefined };
  return LENGTH.test(length) ? { byName, raw, contentLength: Number(length) } : undefined;
}

/** Checks the pseudo-header fields of a request (RFC 9113 §8.3.1, §8.5 for CONNECT). */
function isTarget({
  ":method": method,
  ":path": path,
  ":scheme": scheme,
  ":authority": authority = "",
}: ReceivedFields) {
  if (method === undefined || !METHOD.test(method) || !TARGET.test(authority)) return false;
  if (method === "CONNECT") return scheme === undefined && path === undefined && authority !== "";
  if (scheme === undefined || path === undefined || !SCHEME.test(scheme)) return false;
  return TARGET.test(path) && (path.startsWith("/") || (path === "*" && method === "OPTIONS"));
}

/** Checks that the fields for the host do not differ: what is before the server may go by either (RFC 9113 §8.3.1). */
function isOneHost({ ":authority": authority, ":scheme": scheme, host }: ReceivedFields): boolean {
  if (!authority || host === undefined || authority === host) return true;
  return normalized(authority, scheme) === normalized(host, scheme);
}

/** A host in lower case and without the port that its scheme has anyway (RFC 3986 §6.2.3). */
function normalized(host: string, scheme = ""): string {
  return host.toLowerCase().replace(scheme === "https" ? /:443$/ : /:80$/, "");
}

/**
 * Reads fields that follow a request's data, each name followed by its value; undefined if they are malformed (RFC 9113
 * §8.1).
 */
export function readTrailers({ fields }: HeaderList): readonly string[] | undefined {
  const isMalformed = fields.some(
    ({ name, isLegal }) => !isLegal || name.charCodeAt(0) === COLON || OF_CONNECTION.has(name),
  );
  return isMalformed ? undefined : fields.flatMap(({ name, value }) => [name, value]);
}

/** Throws a TypeError for fields that no peer would take (RFC 9113 §8.2). */
export function assertSendable(headers: SentHeaders): void {
  for (const name in headers) {
    const value = headers[name];
    const isSendable =
      typeof value === "number" ||
      value === undefined ||
      (typeof value === "string" ? isLegalField(name, value) : value.every((one) => isLegalField(name, one)));
    if (!isSendable || OF_CONNECTION.has(name)) {
      throw new TypeError(`The header field ${JSON.stringify(name)} cannot be sent over HTTP/2: its name has to be in
lower case and none of the connection's, its value without line breaks, NUL, and spaces at its ends.`);
    }
  }
}
