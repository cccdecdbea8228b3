/** HPACK (RFC 7541) as far as a load of equal gRPC calls needs it. */

/** Header blocks of a call: the first one on a connection fills the server's table, the later ones refer to it. */
export interface CallHeaders {
  readonly first: Buffer;
  readonly later: Buffer;
}

/** Indices of the static table, appendix A. */
const METHOD_POST = 0x83;
const SCHEME_HTTP = 0x86;
const AUTHORITY = 1;
const PATH = 4;
const CONTENT_TYPE = 31;
/** The newest entry of the dynamic table; entries get older as the index grows. */
const NEWEST = 62;

/** The headers of a unary call. */
export function encodeCallHeaders(authority: string, path: string): CallHeaders {
  const literals = [
    indexed(PATH, path),
    indexed(AUTHORITY, authority),
    indexed(CONTENT_TYPE, "application/grpc"),
    Buffer.concat([Buffer.of(0x40), text("te"), text("trailers")]),
  ];
  const references = literals.map((_, index) => 0x80 | (NEWEST + literals.length - 1 - index));
  return {
    first: Buffer.concat([Buffer.of(METHOD_POST, SCHEME_HTTP), ...literals]),
    later: Buffer.of(METHOD_POST, SCHEME_HTTP, ...references),
  };
}

/** A literal that is added to the table. */
function indexed(name: number, value: string): Buffer {
  return Buffer.concat([Buffer.of(0x40 | name), text(value)]);
}

/** Without Huffman coding, up to 126 bytes. */
function text(value: string): Buffer {
  return Buffer.concat([Buffer.of(value.length), Buffer.from(value)]);
}

/** `grpc-status` in Huffman coding (appendix B), with its length before it: what an encoder without a table writes. */
const GRPC_STATUS = Buffer.from("889acac8b21234da8f", "hex");

/** The value of grpc-status in a header block that was written without a table; undefined if there is none. */
export function readGrpcStatus(block: Buffer): string | undefined {
  const at = block.indexOf(GRPC_STATUS);
  if (at < 0) return undefined;
  // A status is not shorter in Huffman coding, hence plain.
  const start = at + GRPC_STATUS.length + 1;
  return block.toString("latin1", start, start + (block[start - 1] as number));
}
