import { createServer, type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { connect, createTensor } from "../../../src/client/node.ts";

type Answer = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

const GRPC = { ":status": 200, "content-type": "application/grpc" };
const X = createTensor("float32", [1], new Float32Array(1));

/** The error of a predict that is answered so, and how often it was sent. */
async function predictAt(answer: Answer, timeoutMs?: number) {
  let sent = 0;
  const server = createServer();
  server.on("stream", (stream, headers) => {
    sent++;
    stream.on("error", () => {});
    answer(stream, headers);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const models = connect(`grpc://127.0.0.1:${(server.address() as AddressInfo).port}`, {
    retries: { firstDelayMs: 1 },
    ...(timeoutMs !== undefined && { timeoutMs }),
  });
  onTestFinished(() => models.$close());
  const error = await models.m!.predict({ x: X }).catch((reason) => reason);
  return { error, sent };
}

const trailersAfter =
  (headers: OutgoingHttpHeaders, trailers: OutgoingHttpHeaders): Answer =>
  (stream) => {
    stream.respond(headers, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers(trailers));
    stream.end();
  };

test.each([502, 503, 504])(
  "a page with %i of a proxy is not an answer after which a call is sent again",
  async (status) => {
    const { error, sent } = await predictAt((stream) => {
      stream.respond({ ":status": status, "content-type": "text/html" });
      stream.end("<html>Gateway Time-out</html>");
    });
    expect(error).toMatchObject({ code: "unavailable", isSafeToRetry: false });
    expect(error.message).toContain(`Received HTTP status code ${status}`);
    expect(sent).toBe(1);
  },
);

test.each<[string, Answer]>([
  [
    "a status alone of something else",
    (s) => s.respond({ ":status": 503, "content-type": "text/html" }, { endStream: true }),
  ],
  ["a status after headers", trailersAfter(GRPC, { "grpc-status": "14", "grpc-message": "later" })],
  [
    "headers before a connection that is lost",
    (stream) => {
      stream.respond(GRPC);
      setImmediate(() => stream.session?.destroy());
    },
  ],
])("%s is not an answer after which a call is sent again", async (_, answer) => {
  const { error, sent } = await predictAt(answer);
  expect([error.code, error.isSafeToRetry, sent]).toEqual(["unavailable", false, 1]);
});

test.each(["application/grpc", "application/grpc+proto"])("the server's own status of %s is one", async (type) => {
  const own = { ":status": 200, "content-type": type, "grpc-status": "14", "grpc-message": "later" };
  const { error, sent } = await predictAt((stream) => stream.respond(own, { endStream: true }));
  expect([error.code, error.isSafeToRetry, error.serverText, sent]).toEqual(["unavailable", true, "later", 4]);
});

test("a server is told the time that a call may take, and nothing of one without a limit", async () => {
  const told: unknown[] = [];
  const answer: Answer = (stream, headers) => {
    told.push(headers["grpc-timeout"]);
    stream.respond({ ...GRPC, "grpc-status": "5", "grpc-message": "none" }, { endStream: true });
  };
  await predictAt(answer, 60_000);
  await predictAt(answer);
  expect(told).toEqual([expect.stringMatching(/^\d+[mS]$/), undefined]);
});
