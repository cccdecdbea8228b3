/**
 * node:http2 with the windows that kserving gives its clients and gRPC's framing by hand, sending back what comes;
 * sends its address to the parent.
 */
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { CONNECTION_WINDOW_BYTES, STREAM_WINDOW_BYTES } from "../src/platform/limits/transport-limits.ts";

const HEADERS = { ":status": 200, "content-type": "application/grpc" };

const server = createServer({ settings: { initialWindowSize: STREAM_WINDOW_BYTES } });
server.on("session", (session: ServerHttp2Session) => session.setLocalWindowSize(CONNECTION_WINDOW_BYTES));
server.on("stream", echo);
server.listen(0, "127.0.0.1", () => process.send?.({ grpc: `127.0.0.1:${(server.address() as AddressInfo).port}` }));
process.on("disconnect", () => process.exit());

function echo(stream: ServerHttp2Stream): void {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("end", () => {
    stream.respond(HEADERS, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(Buffer.concat(chunks));
  });
}
