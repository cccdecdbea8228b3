import { createHash } from "node:crypto";
import { invalidArgument } from "../errors.ts";
import type { Caller } from "./caller.ts";
import { networkOf } from "./network-address.ts";
import type { TrustedProxies } from "./trusted-proxies.ts";

/** The longest text that is kept as it is. */
const MAX_TEXT = 64;
const HEADER = /^header:([!#$%&'*+.^_`|~0-9a-z-]+)$/i;

/** Distinguishes clients. */
export type ClientKey = (caller: Caller) => string;

/**
 * Reads the property that distinguishes clients: by `address` (of IPv6 the /64), by `user`, or by a header as
 * `header:NAME`. A call without user or header counts by its address. Throws `invalid_argument` for any other text.
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

/**
 * As {@link readClientKey}, for what clients hold of the server: a caller that has authenticated counts by its user.
 * Where a connection determines the address, it is looked at once.
 */
export function readAccountKey(text: string, proxies: TrustedProxies): ClientKey {
  const read = readClientKey(text, proxies);
  const key = HEADER.test(text) || proxies.areSome ? read : onceForConnection(read);
  return (caller) => prefixed("user", caller.user) ?? (key(caller) || UNKNOWN);
}

/** Programs of this machine, whose connections have no address. */
const UNKNOWN = "unix:";

function onceForConnection(key: ClientKey): ClientKey {
  const known = new WeakMap<object, string>();
  return (caller) => {
    const { connection } = caller;
    if (connection === undefined) return key(caller);
    const found = known.get(connection) ?? key(caller);
    known.set(connection, found);
    return found;
  };
}

/** A text of bounded length that no address equals. */
function prefixed(kind: string, value: unknown): string | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  const text = value.length <= MAX_TEXT ? value : createHash("sha256").update(value).digest("base64");
  return `${kind} ${text}`;
}
