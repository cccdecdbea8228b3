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
