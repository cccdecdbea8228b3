import { createServer, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { expect, test } from "vitest";
import { GrpcSender } from "../../../../src/tools/benchmark/load/senders.ts";

/** Requests that together are larger than what Node lets a connection keep by default, 10 MB. */
const REQUESTS = { count: 32, bytes: 600 * 1024 };

/** Begins the answer of a call, and later reads the message, as a server does that has much to read. */
function answer(stream: ServerHttp2Stream): void {
  setTimeout(() => stream.respond({ ":status": 200 }, { waitForTrailers: true }), 300);
  setTimeout(() => stream.resume(), 400);
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.on("end", () => stream.end(Buffer.alloc(5)));
}

test("keeps any number of large requests open on one connection", async () => {
  const server = createServer().on("stream", answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const body = Buffer.alloc(REQUESTS.bytes);
  const sender = new GrpcSender({ protocol: "grpc", origin, path: "/a.B/C", headers: {}, body, connections: 1 });
  const send = () => new Promise<string | undefined>((resolve) => sender.send(resolve));
  await send();
  const problems: (string | undefined)[] = [];
  for (let at = 0; at < REQUESTS.count; at++) {
    void send().then((problem) => problems.push(problem));
    // One turn each: what the earlier ones have written waits in the connection by then.
    await new Promise(setImmediate);
  }
  await expect.poll(() => problems.length).toBe(REQUESTS.count);
  expect(new Set(problems)).toEqual(new Set([undefined]));
  sender.close();
  server.close();
});

test("says why there is no connection", async () => {
  const target = {
    protocol: "grpc",
    origin: "http://127.0.0.1:1",
    path: "/a.B/C",
    headers: {},
    connections: 1,
  } as const;
  const sender = new GrpcSender({ ...target, body: Buffer.alloc(1) });
  expect(await new Promise((resolve) => sender.send(resolve))).toBe("ECONNREFUSED");
  sender.close();
});

test("has no more calls open than the server takes, and shows a status", async () => {
  let [open, most] = [0, 0];
  const server = createServer({ settings: { maxConcurrentStreams: 2 } }).on("stream", (stream) => {
    most = Math.max(most, ++open);
    stream.resume().on("close", () => open--);
    setTimeout(
      () => stream.respond({ ":status": 200, "grpc-status": "5", "grpc-message": "a%20b" }, { endStream: true }),
      20,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const target = { protocol: "grpc", origin, path: "/a.B/C", headers: {}, connections: 1 } as const;
  const sender = new GrpcSender({ ...target, body: Buffer.alloc(1) });
  const send = () => new Promise<string | undefined>((resolve) => sender.send(resolve));
  expect(await send()).toBe("gRPC status 5: a b");
  expect(new Set(await Promise.all(Array.from({ length: 9 }, send)))).toEqual(new Set(["gRPC status 5: a b"]));
  expect(most).toBe(2);
  sender.close();
  server.close();
});

test("ends the calls that wait for others when their connection ends", async () => {
  const server = createTcpServer((socket) => socket.once("data", () => socket.end().destroy()));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const target = { protocol: "grpc", origin, path: "/a.B/C", headers: {}, connections: 1 } as const;
  const sender = new GrpcSender({ ...target, body: Buffer.alloc(1) });
  const send = () => new Promise<string | undefined>((resolve) => sender.send(resolve));
  // A client takes 100 calls for as many as a server takes that has not said so yet.
  const problems = await Promise.all(Array.from({ length: 300 }, send));
  for (const problem of new Set(problems)) expect(problem).toMatch(/^(?:ECONNRESET|EPIPE|the connection ended before)/);
  sender.close();
  server.close();
});
