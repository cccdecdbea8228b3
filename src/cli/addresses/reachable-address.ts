/**
 * An address to which a client on this machine can connect: a server may listen on 0.0.0.0 or [::], which are not
 * addresses to connect to.
 * Takes `host:port` with or without a scheme before it.
 */
export function toReachableAddress(address: string, loopback = "localhost"): string {
  return address.replace(/(^|\/\/)(0\.0\.0\.0|\[::\])(?=:\d+$)/, `$1${loopback}`);
}
