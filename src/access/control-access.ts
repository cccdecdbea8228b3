import { ServingError } from "../errors.ts";
import type { ServerSettings } from "../platform/limits/settings/server-settings.ts";
import type { Caller } from "./caller.ts";
import { isLoopback, isOwnHost } from "./network-address.ts";

/** Clients that may change the server. */
export type ControlAccess = ServerSettings["access"]["allowControl"];

/** Headers that proxies add: the sender of one is not the client, so its address says nothing. */
const FORWARDING =
  /^(?:forwarded|via|x-forwarded(?:-.*)?|x-real-ip|x-client-ip|x-cluster-client-ip|x-original-.*|x-envoy-.*|true-client-ip|cf-.*)$/;

/**
 * Throws `permission_denied` for a client that may not change the server; `isOwnPage` = it is the server's own page.
 */
export function assertControl(caller: Caller, access: ControlAccess, isOwnPage: boolean): void {
  if (access === "off") {
    throw refusal(
      "Calls that change the server are off; start it with --allow-control=local for programs on its own machine, or --allow-control=all for all clients.",
    );
  }
  const page = pageOf(caller);
  if (page !== undefined && !isOwnPage)
    throw refusal(`Calls that change the server are not open to web pages (${page}); send them from a program.`);
  if (access === "all") return;
  const reason = whyNotLocal(caller);
  if (reason === undefined) return;
  throw refusal(
    `Calls that change the server are open to programs on its own machine only (--allow-control=local), and ${reason}; --allow-control=all opens them to all clients.`,
  );
}

/** The sign by which a browser's request for a page is known; undefined if there is none. */
export function pageOf({ headers }: Caller): string | undefined {
  const { origin, "sec-fetch-site": site } = headers;
  if (origin !== undefined) return `Origin: ${String(origin).slice(0, MAX_TEXT)}`;
  return site === undefined || site === "none" ? undefined : `Sec-Fetch-Site: ${String(site).slice(0, MAX_TEXT)}`;
}

const MAX_TEXT = 100;

/** Checks that a call comes from a program or a page of this machine, without a proxy between. */
export function isLocalCaller(caller: Caller): boolean {
  return whyNotLocal(caller) === undefined;
}

function whyNotLocal({ address, host, headers, isHttp10 }: Caller): string | undefined {
  if (!isLoopback(address)) return `this one came from ${address || "no address"}`;
  const header = forwardingHeader(headers);
  if (header !== undefined) return `this one came through a proxy (header ${header})`;
  // Reverse proxies that add no header speak it by default.
  if (isHttp10 === true) return "this one came in HTTP/1.0, as reverse proxies send";
  if (host !== undefined && isOwnHost(host)) return undefined;
  return `this one is for the host "${(host ?? "").slice(0, MAX_TEXT)}", which is not an address or name of this machine`;
}

/** The header by which a call through a proxy is known; undefined if there is none, which proves nothing. */
function forwardingHeader(headers: Caller["headers"]): string | undefined {
  return Object.keys(headers).find((name) => FORWARDING.test(name));
}

function refusal(message: string): ServingError {
  return new ServingError("permission_denied", message);
}
