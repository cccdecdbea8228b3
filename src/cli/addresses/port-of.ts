/** The port of an address, `HOST:PORT` or a URL without a path. */
export function portOf(address: string): string {
  return address.slice(address.lastIndexOf(":") + 1);
}
