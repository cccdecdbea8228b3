import type { IncomingMessage } from "node:http";
import type { AccessPolicy } from "../../access/access-policy.ts";
import { toAuthority } from "../../net/authority.ts";

const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

/**
 * The URL of `POST /` at the address under which a request came, for a generated program. A `Host` with other
 * characters than names and addresses have gives way to the connection's own address; that a request has come by TLS
 * is believed of proxies that are trusted.
 */
export function endpointOf(
  { headers, socket }: Pick<IncomingMessage, "headers" | "socket">,
  policy: Pick<AccessPolicy, "isProxy">,
): string {
  const { remoteAddress = "unix:" } = socket;
  const isForwarded = headers["x-forwarded-proto"] === "https" && policy.isProxy(remoteAddress);
  const isEncrypted = "encrypted" in socket || isForwarded;
  const { localAddress = "127.0.0.1", localPort = 80 } = socket;
  const own = toAuthority(localAddress.replace(/^::ffff:/, ""), localPort);
  const host = HOST.test(headers.host ?? "") ? headers.host : own;
  return `${isEncrypted ? "https" : "http"}://${host}/`;
}
