/** Groups of an IPv6 address that name a network; its users choose the others as they like. */
const NETWORK_GROUPS = 4;
const ALL_GROUPS = 8;

/** An IPv4 address, or the network of an IPv6 address, without a port. */
export function networkOf(address: string): string {
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
