import { BlockList, isIP } from "node:net";

/**
 * Networks that are not the internet's: those that IANA's registries of special-purpose addresses have as not globally
 * reachable, multicast, site-local addresses (RFC 3879), ways of IPv4 through IPv6, and the host of Azure's machines.
 */
const IPV4 = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16"],
  ...["172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"],
  ...["198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"],
];
const IPV6 = [
  ...["::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"],
  ...["5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"],
];
/** Addresses whose end is one of IPv4 (RFC 6052), by which hosts of IPv6 alone reach the internet. */
const NAT64 = "64:ff9b::";

const PRIVATE = new BlockList();
for (const [networks, family] of [
  [IPV4, "ipv4"],
  [IPV6, "ipv6"],
] as const)
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    PRIVATE.addSubnet(address, Number(bits), family);
  }

/** Checks if an IP address belongs to this machine, to a private network, or to no host of the internet. */
export function isPrivateAddress(address: string): boolean {
  const [plain = ""] = address.split("%", 1);
  const family = isIP(plain);
  if (family === 4) return PRIVATE.check(plain, "ipv4");
  return family === 6 && PRIVATE.check(withoutNat64(plain), "ipv6");
}

/** Checks if the host of a URL is this machine by its usual name, or such an address. */
export function isPrivateHost(hostname: string): boolean {
  const name = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  return name === "localhost" || name.endsWith(".localhost") || isPrivateAddress(name);
}

/** An address of NAT64 as one of IPv4 within IPv6, others as they are. */
function withoutNat64(address: string): string {
  const usual = new URL(`http://[${address}]`).hostname.slice(1, -1);
  if (!usual.startsWith(NAT64)) return usual;
  const groups = usual.slice(NAT64.length).split(":");
  const [low, high = "0"] = groups.reverse();
  return groups.length > 2 ? usual : `::ffff:${high || "0"}:${low || "0"}`;
}
