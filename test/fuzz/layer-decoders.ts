import { Duplex } from "node:stream";
import { connect } from "node:tls";
import { ServingError } from "../../src/errors.ts";
import { callFrames, OPENING } from "../grpc/flood-frames.ts";
import type { Decoder } from "./decoder.ts";
import type { TlsClient } from "./tls-client.ts";

const BODY = '{"instances": [1, 2.5]}';
const REQUESTS = [
  `POST /v1/models/m:predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${BODY.length}\r\nConnection: keep-alive\r\n\r\n${BODY}GET /v2/health/live HTTP/1.0\r\n\r\n`,
  `POST /serving-proxy HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTrailer: x\r\n\r\n5\r\n{"x":\r\n3;a=b\r\n 1}\r\n0\r\nx: y\r\n\r\n`,
];
/** A status line that says that the server failed. */
const FAILURE = /^HTTP\/1\.1 500 /m;

/**
 * Decoders of what carries messages: requests and frames within TLS, and the first record of TLS. The server may answer
 * them or not, but ends the connection.
 */
export async function layerDecoders(client: TlsClient): Promise<Decoder[]> {
  const frames = [OPENING, callFrames("/grpc.health.v1.Health/Check", 1), callFrames("/nothing", 3)];
  return [
    {
      name: "an HTTP request through TLS",
      samples: REQUESTS.map((text) => Buffer.from(text)),
      decode: async (bytes) => {
        const text = (await client.write("http/1.1", bytes)).toString("latin1");
        if (FAILURE.test(text)) throw new Error(`the server failed: ${text}`);
        if (!text.startsWith("HTTP/1.1 200")) throw new ServingError("invalid_argument", text);
      },
    },
    {
      name: "HTTP/2 frames through TLS",
      samples: [Buffer.concat(frames)],
      decode: (bytes) => client.write("h2", bytes),
    },
    {
      name: "the first record of TLS",
      samples: [await firstRecord()],
      decode: (bytes) => client.write("tls", bytes),
    },
  ];
}

function firstRecord(): Promise<Buffer> {
  return new Promise((resolve) => {
    const socket = new Duplex({ read: () => {}, write: (bytes: Buffer) => resolve(bytes) });
    connect({ socket, servername: "localhost", ALPNProtocols: ["http/1.1"] }).on("error", () => {});
  });
}
