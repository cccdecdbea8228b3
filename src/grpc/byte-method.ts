import type { MethodDefinition } from "@grpc/grpc-js";

/** A method whose messages pass as bytes, for handlers that call codecs themselves. */
export function byteMethod(
  path: string,
  kind: "unary" | "serverStream" | "bidiStream" = "unary",
): MethodDefinition<Buffer, Buffer> {
  const asIs = (bytes: Buffer) => bytes;
  return {
    path,
    requestStream: kind === "bidiStream",
    responseStream: kind !== "unary",
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  };
}
