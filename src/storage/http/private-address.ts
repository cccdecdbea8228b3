import { BlockList, isIP } from "node:net";

/** Networks that only machines of a site reach. Sources: RFC 1918, 3927, 4193, 4291, 6598. */
const PRIVATE = new BlockList();
for (const [network, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
] as const)
  PRIVATE.addSubnet(network, bits, "ipv4");
for (const [network, bits] of [
  ["::", 127],
  ["fc00::", 7],
  ["fe80::", 10],
] as const)
  PRIVATE.addSubnet(network, bits, "ipv6");

/** Checks if an IP address belongs to this machine or to a private network. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address);
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return isPrivateAddress(mapped);
  return family !== 0 && PRIVATE.check(address, family === 4 ? "ipv4" : "ipv6");
}
