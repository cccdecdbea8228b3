import { lookup as lookupName } from "node:dns";
import type { IncomingMessage } from "node:http";
import type { LookupFunction } from "node:net";
import { ServingError } from "../../errors.ts";
import { type HttpRequest, httpRequest } from "./http-request.ts";
import { isPrivateAddress, isPrivateHost } from "./private-address.ts";

const REDIRECTS = [301, 302, 303, 307, 308];
const MAX_REDIRECTS = 5;
/** Bytes of a redirect's body that are read, so that its connection can be kept. */
const MAX_BODY = 64 * 1024;

interface RedirectOptions {
  /** Told of each redirect. */
  readonly onRedirect?: (to: URL) => void;
  /** Sends each request, and decides which hosts get one. Default: all but those below. */
  readonly send?: typeof httpRequest;
}

/**
 * Sends a request as {@link httpRequest} does, and follows redirects. Credentials are sent to the first host alone.
 * Throws `permission_denied` for a redirect from HTTPS to HTTP, and for one from a public server to a private network,
 * whose answers are meant for this machine alone.
 */
export async function followRedirects(
  first: URL,
  request: HttpRequest,
  { onRedirect, send: sendOwn }: RedirectOptions = {},
): Promise<IncomingMessage> {
  let url = first;
  let isFirstPrivate = isPrivateHost(first.hostname);
  for (let hops = 0; ; hops++) {
    const headers = url.origin === first.origin ? request.headers : bare(request);
    const send = sendOwn ?? (hops > 0 && !isFirstPrivate ? sendToPublic : httpRequest);
    const response = await send(url, { ...request, headers });
    if (hops === 0) isFirstPrivate ||= isPrivateAddress(response.socket.remoteAddress ?? "");
    const { location } = response.headers;
    if (!REDIRECTS.includes(response.statusCode ?? 0) || location === undefined) return response;
    leaveBody(response, sendOwn === undefined ? MAX_BODY : 0);
    if (hops === MAX_REDIRECTS) throw new ServingError("unavailable", `${first.host} redirects without end`);
    const next = redirectOf(location, url);
    if (url.protocol === "https:" && next.protocol !== "https:") throw refused(next, "without encryption");
    url = next;
    onRedirect?.(url);
  }
}

/** Reads so many bytes that are not wanted, and ends the connection if more come: some servers never stop. */
function leaveBody(response: IncomingMessage, maxBytes: number): void {
  if (maxBytes === 0) return void response.destroy();
  let bytes = 0;
  response.on("data", (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > maxBytes) response.destroy();
  });
}

function redirectOf(location: string, from: URL): URL {
  const next = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  if (next !== undefined && /^https?:$/.test(next.protocol)) return next;
  throw new ServingError("unavailable", `${from.host} redirects to something that is no URL. Check the address`);
}

/** Sends a request over a new connection: a kept one would be used without a look at its address. */
async function sendToPublic(url: URL, request: HttpRequest): Promise<IncomingMessage> {
  if (isPrivateHost(url.hostname)) throw refused(url, "in a private network");
  const lookup = guardedLookup(isPrivateAddress, () => refused(url, "in a private network"));
  return httpRequest(url, { ...request, agent: false, lookup });
}

/**
 * A look-up that checks the address to which the connection is made, so that a name cannot change its meaning between
 * check and use. It is not asked about a host that is an address itself, nor for a connection that is kept.
 */
export function guardedLookup(isRefused: (address: string) => boolean, refusal: () => Error): LookupFunction {
  return (hostname, options, done) => {
    lookupName(hostname, { ...options, all: true }, (reason, addresses) => {
      if (reason !== null) return done(reason, []);
      if (addresses.some(({ address }) => isRefused(address))) return done(refusal(), []);
      const [one] = addresses;
      return options.all ? done(null, addresses) : done(null, one?.address ?? "", one?.family);
    });
  };
}

function bare({ headers = {} }: HttpRequest): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !/^(authorization|cookie)$/i.test(name)));
}

function refused(url: URL, where: string): ServingError {
  return new ServingError(
    "permission_denied",
    `the server redirects to ${url.host}, ${where}, which is not followed. Give that address itself if it is meant`,
  );
}
