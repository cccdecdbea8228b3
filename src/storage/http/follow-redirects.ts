import { lookup as lookupName } from "node:dns";
import type { IncomingMessage } from "node:http";
import { isIP, type LookupFunction } from "node:net";
import { ServingError } from "../../errors.ts";
import { type HttpRequest, httpRequest } from "./http-request.ts";
import { isPrivateAddress } from "./private-address.ts";

const REDIRECTS = [301, 302, 303, 307, 308];
const MAX_REDIRECTS = 5;

/**
 * Sends a request as {@link httpRequest} does, and follows redirects. Credentials are sent to the first host alone.
 * Throws `permission_denied` for a redirect from HTTPS to HTTP, and for one from a public server to a private network,
 * where it could read what is meant for this machine alone.
 */
export async function followRedirects(first: URL, request: HttpRequest): Promise<IncomingMessage> {
  let url = first;
  let isFirstPrivate = isLocalName(first.hostname);
  for (let hops = 0; ; hops++) {
    const isOwn = url.origin === first.origin;
    const connected: ConnectedAddress = { isPrivate: isPrivateAddress(bareHost(url)) };
    assertAllowed(url, hops > 0 && !isFirstPrivate && (connected.isPrivate || isLocalName(url.hostname)));
    const lookup = checkedLookup(connected, hops > 0 && !isFirstPrivate, url);
    const response = await httpRequest(url, { ...request, headers: isOwn ? request.headers : bare(request), lookup });
    if (hops === 0) isFirstPrivate ||= connected.isPrivate;
    const { location } = response.headers;
    if (!REDIRECTS.includes(response.statusCode ?? 0) || location === undefined) return response;
    response.resume();
    if (hops === MAX_REDIRECTS) throw new ServingError("unavailable", `${first.host} redirects without end`);
    const next = new URL(location, url);
    if (url.protocol === "https:" && next.protocol !== "https:") throw refused(next, "without encryption");
    url = next;
  }
}

interface ConnectedAddress {
  isPrivate: boolean;
}

/**
 * Checks the address to which the connection is made, so that a name cannot change its meaning between check and use.
 */
function checkedLookup(connected: ConnectedAddress, isRefused: boolean, url: URL): LookupFunction {
  return (hostname, options, done) => {
    lookupName(hostname, { ...options, all: true }, (reason, addresses) => {
      if (reason !== null) return done(reason, []);
      connected.isPrivate = addresses.some(({ address }) => isPrivateAddress(address));
      if (isRefused && connected.isPrivate) return done(refused(url, "in a private network"), []);
      const [one] = addresses;
      return options.all ? done(null, addresses) : done(null, one?.address ?? "", one?.family);
    });
  };
}

function assertAllowed(url: URL, isRefused: boolean): void {
  if (isRefused) throw refused(url, "in a private network");
}

function isLocalName(hostname: string): boolean {
  return hostname === "localhost" || isPrivateAddress(hostname.replace(/^\[|\]$/g, ""));
}

function bareHost(url: URL): string {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return isIP(host) === 0 ? "" : host;
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
