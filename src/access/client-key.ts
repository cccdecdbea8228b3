import { createHash } from "node:crypto";
import { invalidArgument } from "../errors.ts";
import type { Caller } from "./caller.ts";
import type { TrustedProxies } from "./trusted-proxies.ts";

/** Groups of an IPv6 address that name a network; its users choose the others as they like. */
const NETWORK_GROUPS = 4;
const ALL_GROUPS = 8;
/** The longest text that is kept as it is. */
const MAX_TEXT = 64;
const HEADER = /^header:([!#$%&'*+.^_`|~0-9a-z-]+)$/i;

/** Tells clients apart. */
export type ClientKey = (caller: Caller) => string;

/**
 * Reads how clients are told apart: by `address` (of IPv6 the /64), by `user`, or by a header as `header:NAME`. A call without user or header counts by its
 * address. Throws `invalid_argument` for any other text.
 */
export function readClientKey(text: string, proxies: TrustedProxies): ClientKey {
  const byAddress: ClientKey = (caller) => networkOf(proxies.clientAddress(caller));
  if (text === "address") return byAddress;
  if (text === "user") return (caller) => prefixed("user", caller.user) ?? byAddress(caller);
  const name = HEADER.exec(text)?.[1]?.toLowerCase();
  if (name !== undefined) return (caller) => prefixed("header", caller.headers[name]) ?? byAddress(caller);
  throw invalidArgument(
    `The clients' key "${text}" (--client-key) is not known; expected address, user or header:NAME, for example header:x-api-key.`,
  );
}

/** A text of bounded length that no address equals. */
function prefixed(kind: string, value: unknown): string | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  const text = value.length <= MAX_TEXT ? value : createHash("sha256").update(value).digest("base64");
  return `${kind} ${text}`;
}

/** An IPv4 address, or the network of an IPv6 address. */
function networkOf(address: string): string {
  if (!address.includes(":") || address.startsWith("unix")) return address;
  const [head = "", tail] = address.toLowerCase().split("::");
  const first = groupsOf(head);
  const last = tail === undefined ? [] : groupsOf(tail);
  const zeros = Array.from({ length: Math.max(0, ALL_GROUPS - first.length - last.length) }, () => "0");
  const groups = [...first, ...zeros, ...last].slice(0, NETWORK_GROUPS);
  return `${groups.map((group) => group.replace(/^0+(?=.)/, "")).join(":")}::/64`;
}

function groupsOf(part: string): string[] {
  return part === "" ? [] : part.split(":");
}
