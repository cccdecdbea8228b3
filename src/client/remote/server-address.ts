/** An address of another server as gRPC takes it, and whether its connection is encrypted. */
export interface ServerAddress {
  readonly authority: string;
  readonly isEncrypted: boolean;
}

/** Reads `HOST:PORT`, `grpc://HOST:PORT` or, for an encrypted connection, `grpcs://HOST:PORT`. */
export function parseServerAddress(address: string): ServerAddress {
  const [, scheme = "", authority = address] = /^(grpcs?):\/\/(.*)$/.exec(address) ?? [];
  return { authority, isEncrypted: scheme === "grpcs" };
}
