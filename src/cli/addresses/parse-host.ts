import { isIP } from "node:net";

/**
 * A machine's name or IP address, without the brackets that an IPv6 address may have;
 * undefined for what can be neither.
 */
export function parseHost(text: string): string | undefined {
  const bare = text.replace(/^\[(.*:.*)\]$/, "$1");
  return /^[\w.-]+$/.test(bare) || isIP(bare) !== 0 ? bare : undefined;
}
