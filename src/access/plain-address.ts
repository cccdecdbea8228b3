import { isIP } from "node:net";

/** An address without port, brackets, zone or the prefix of IPv4 within IPv6; undefined for what is not an address. */
export function plainAddress(text: string): string | undefined {
  const [, bracketed] = /^\[([^\]]*)\](?::\d+)?$/.exec(text) ?? [];
  const bare = (bracketed ?? text).replace(/^::ffff:(?=\d+\.)/i, "").split("%", 1)[0] as string;
  if (isIP(bare) !== 0) return bare;
  const [, host = ""] = /^([\d.]+):\d+$/.exec(bare) ?? [];
  return isIP(host) === 4 ? host : undefined;
}
