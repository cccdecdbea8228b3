import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { answerTo, contentOf, LIMITS } from "./answer.ts";

/** A server of node:http2, which tells its parent its port. */
const settings = {
  initialWindowSize: LIMITS.streamWindowBytes,
  maxConcurrentStreams: LIMITS.maxConcurrentStreams,
  maxHeaderListSize: LIMITS.maxHeaderBytes,
};
const server = createServer({ settings, maxHeaderListPairs: LIMITS.maxHeaders });
server.on("session", (session) => session.on("error", () => {}));
server.on("sessionError", () => {});
server.on("stream", (stream: ServerHttp2Stream, _headers: IncomingHttpHeaders, _flags: number, raw: string[]) => {
  let [bytes, trailers]: [number, string[]] = [0, []];
  stream.on("error", () => {});
  stream.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
  });
  stream.on("trailers", (fields: IncomingHttpHeaders) => {
    trailers = Object.keys(fields);
  });
  stream.on("end", () => {
    if (stream.destroyed || stream.closed) return;
    stream.respond(answerTo(raw, trailers, bytes));
    stream.end(contentOf(raw, bytes));
  });
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit());
