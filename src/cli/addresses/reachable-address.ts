/**
 * An address that a client on this machine can connect to: a server listens on 0.0.0.0 or [::], which is no place to go to.
 * Takes `host:port` with or without a scheme before it.
 */
export function toReachableAddress(address: string, loopback = "localhost"): string {
  return address.replace(/(^|\/\/)(0\.0\.0\.0|\[::\])(?=:\d+$)/, `$1${loopback}`);
}
