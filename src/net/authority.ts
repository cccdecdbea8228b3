/** `host:port`, with an IPv6 address in brackets (RFC 3986 §3.2). */
export function toAuthority(host: string, port: number | string): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
