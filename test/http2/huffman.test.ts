import { once } from "node:events";
import { connect } from "node:http2";
import { createServer, type Socket } from "node:net";
import { expect, it } from "vitest";
import { HpackDecoder } from "../../src/http2/hpack-decoder.ts";
import { FLAG, FRAME, HEAD_BYTES, PREFACE } from "../../src/http2/protocol.ts";
import { listenOnFreePort } from "./listen-on-free-port.ts";

const LIMITS = { maxBytes: 65_535, maxFields: 128 };

it("decodes each byte as nghttp2 encodes it", async () => {
  // A value may have neither these nor spaces at its ends.
  const bytes = Array.from({ length: 256 }, (_, byte) => byte).filter((byte) => byte >= 0x20 && byte !== 0x7f);
  const texts = bytes.flatMap((byte) => {
    const one = String.fromCharCode(byte);
    // Nghttp2 uses Huffman's code where it is shorter: among others of five bits each.
    return [`a${one}a`, `${"a".repeat(40)}${one}${"aeiost012".repeat(5)}`, `${"0".repeat(40)}${one}1`];
  });
  for (let at = 0; at < texts.length; at += 100) {
    const sent = texts.slice(at, at + 100);
    expect(await receivedOf(sent)).toEqual(sent);
  }
});

/** The values of a request's fields as a server gets them. */
async function receivedOf(values: readonly string[]): Promise<string[]> {
  const server = createServer();
  const port = await listenOnFreePort(server);
  const session = connect(`http://127.0.0.1:${port}`);
  session.on("error", () => {});
  const headers = Object.fromEntries(values.map((value, index) => [`x-${index}`, value]));
  const stream = session.request({ ":path": "/", ...headers });
  stream.on("error", () => {});
  const [socket] = (await once(server, "connection")) as [Socket];
  try {
    const block = await headerBlock(socket);
    const { fields } = new HpackDecoder(LIMITS).decode(block, 0, block.length);
    return fields.filter(({ name }) => name.startsWith("x-")).map(({ value }) => value);
  } finally {
    session.destroy();
    socket.destroy();
    server.close();
  }
}

/** The first whole header block that a client sends. */
async function headerBlock(socket: Socket): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  for await (const piece of socket.iterator({ destroyOnReturn: false })) {
    bytes = Buffer.concat([bytes, piece as Buffer]);
    const pieces: Buffer[] = [];
    for (let at = PREFACE.length; at + HEAD_BYTES <= bytes.length; ) {
      const end = at + HEAD_BYTES + bytes.readUIntBE(at, 3);
      const [type, flags] = [bytes[at + 3], bytes[at + 4] as number];
      if (end > bytes.length) break;
      // A HEADERS frame of this client has five bytes of priority.
      const start = at + HEAD_BYTES + ((flags & FLAG.priority) === 0 ? 0 : 5);
      if (type === FRAME.headers || type === FRAME.continuation) pieces.push(bytes.subarray(start, end));
      if (pieces.length > 0 && (flags & FLAG.endHeaders) !== 0) return Buffer.concat(pieces);
      at = end;
    }
  }
  throw new Error("The client sent no headers.");
}
