/** Leaves a message's bytes as they are, in place of a codec of gRPC's client. */
export function asIs(bytes: Buffer): Buffer {
  return bytes;
}
