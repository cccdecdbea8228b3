import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect, type Server } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { probePort } from "../../../src/cli/addresses/probe-port.ts";
import { createRemoteService } from "../../../src/client/remote/remote-service.ts";
import { ConnectionLimit } from "../../../src/platform/limits/connection-limit.ts";
import { listenShared } from "../../../src/platform/net/shared-port.ts";
import { createServer } from "../../../src/server/server.ts";
import { toTensors } from "../../../src/tensor/plain-value.ts";
import { resetFrames } from "../../grpc/flood-frames.ts";
import { RawClient } from "../../proxy/raw-client.ts";
import { useUpTheTurn } from "../limits/use-up-the-turn.ts";
import { answerInTwoWrites, shortestAnswer } from "./delayed-acknowledgement.ts";

async function startShared() {
  const port = await probePort("127.0.0.1", 0, "port");
  const server = await createServer({ stages: [{ driver: "null" }], port, http: { port } });
  onTestFinished(() => server.close());
  return { server, port };
}

const predictOverGrpc = async (address: string) => {
  const remote = createRemoteService(address, {});
  onTestFinished(() => remote.close());
  const { outputs } = await remote.infer({
    ref: { model: "" },
    signature: "",
    inputs: { kind: "tensors", tensors: toTensors({ x: [1, 2] }) },
    call: { id: "1", metadata: {}, signal: new AbortController().signal },
  });
  return outputs.kind === "tensors" && outputs.tensors.x?.data;
};

test("one port answers gRPC and HTTP side by side", async () => {
  const { server, port } = await startShared();
  expect(server.grpcAddress).toBe(`127.0.0.1:${port}`);
  expect(server.httpUrl).toBe(`http://127.0.0.1:${port}`);
  const answers = await Promise.all([
    predictOverGrpc(server.grpcAddress),
    fetch(`${server.httpUrl}/health`).then((response) => response.json()),
    predictOverGrpc(server.grpcAddress),
  ]);
  expect(answers).toEqual([Int32Array.of(1, 2), { status: "ok" }, Int32Array.of(1, 2)]);
});

test("a call that comes in one piece with the preface of its connection has its message", async () => {
  const { port } = await startShared();
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  onTestFinished(() => session.destroy());
  const path = "/grpc.health.v1.Health/Check";
  const call = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
  });
  call.end(Buffer.alloc(5));
  const [trailers] = await once(call.resume(), "trailers");
  expect(trailers["grpc-status"]).toBe("0");
});

test("a connection whose first bytes begin and reset a thousand calls is ended, saying so", async () => {
  const { port } = await startShared();
  const client = new RawClient(port);
  client.socket.write(resetFrames("/inference.GRPCInferenceService/ServerLive", 1000));
  expect(await client.closed()).toContain("too_many_resets");
});

class AcceptCount extends ConnectionLimit {
  accepted = 0;

  constructor() {
    super({ max: 0, onProblem: () => {} });
  }

  override guard(server: Server): void {
    server.on("connection", () => this.accepted++);
  }
}

test("connections whose first bytes come together are told apart in turns", async () => {
  const perTurn: number[] = [];
  const http1 = () => {
    perTurn[perTurn.length - 1]!++;
    useUpTheTurn();
  };
  const connections = new AcceptCount();
  const shared = await listenShared({ host: "127.0.0.1", port: 0 }, { http1, http2: () => {}, connections });
  onTestFinished(() => shared.close());
  const clients = Array.from({ length: 20 }, () => connect(shared.port, "127.0.0.1"));
  for (const client of clients) onTestFinished(() => void client.destroy());
  await expect.poll(() => connections.accepted).toBe(clients.length);
  for (const client of clients) client.write("GET / HTTP/1.1\r\n\r\n");
  while (perTurn.reduce((sum, count) => sum + count, 0) < clients.length) {
    perTurn.push(0);
    await nextTurn();
  }
  expect(Math.max(...perTurn)).toBeLessThan(4);
});

test("a connection whose bytes go on arriving while it waits for its turn is given away once", async () => {
  const given: object[] = [];
  const http2 = (socket: object) => {
    given.push(socket);
    useUpTheTurn();
  };
  const connections = new AcceptCount();
  const shared = await listenShared({ host: "127.0.0.1", port: 0 }, { http1: () => {}, http2, connections });
  onTestFinished(() => shared.close());
  const clients = Array.from({ length: 20 }, () => connect(shared.port, "127.0.0.1").setNoDelay());
  for (const client of clients) onTestFinished(() => void client.destroy());
  await expect.poll(() => connections.accepted).toBe(clients.length);
  while (given.length < clients.length) {
    for (const client of clients) client.write("PRI");
    await nextTurn();
  }
  for (let turn = 0; turn < 100; turn++) await nextTurn();
  expect(given).toHaveLength(clients.length);
  expect(new Set(given).size).toBe(clients.length);
});

/** The head of an HTTP/2 frame: three bytes of length, then the kind. */
const SETTINGS = new RegExp(`^.{3}${String.fromCharCode(4)}`, "s");

test.each([
  ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", 2, SETTINGS],
  ["HTTP/1.1", "PROPFIND /health HTTP/1.1\r\nHost: x\r\n\r\n", 1, /^HTTP\/1\.1 405 /],
])("a connection is told to be %s however its first bytes are split", async (_, text, length, answer) => {
  const { port } = await startShared();
  const client = new RawClient(port);
  client.socket.setNoDelay(true);
  for (let sent = 0; sent < text.length; sent += length) {
    client.write(text.slice(sent, sent + length));
    // Another connection's answer comes after the server has seen these bytes.
    await fetch(`http://127.0.0.1:${port}/health`);
  }
  expect(await client.received(answer)).toMatch(answer);
});

test("a connection without data, or with garbage, affects no other one", async () => {
  const { server, port } = await startShared();
  const silent = connect(port, "127.0.0.1");
  const garbage = connect(port, "127.0.0.1").end("\0\0\0");
  onTestFinished(() => {
    silent.destroy();
    garbage.destroy();
  });
  silent.on("error", () => {});
  garbage.on("error", () => {});
  expect(await predictOverGrpc(server.grpcAddress)).toEqual(Int32Array.of(1, 2));
});

test.each(["", "P", "PR"])("a connection that sends %j and no more is closed in time", async (text) => {
  const port = await probePort("127.0.0.1", 0, "port");
  const taken: string[] = [];
  const users = { http1: () => taken.push("http1"), http2: () => taken.push("http2"), handshakeTimeoutMs: 50 };
  const shared = await listenShared({ host: "127.0.0.1", port }, users);
  onTestFinished(() => shared.close());
  const client = new RawClient(port);
  client.write(text);
  expect(await client.closed()).toBe("");
  expect(taken).toEqual([]);
});

test("closing frees the port, whatever connections are open", async () => {
  const { server, port } = await startShared();
  await fetch(`${server.httpUrl}/health`);
  const silent = connect(port, "127.0.0.1");
  silent.on("error", () => {});
  await new Promise((resolve) => silent.once("connect", resolve));
  await server.close();
  const again = await createServer({ stages: [{ driver: "null" }], port, http: { port } });
  await again.close();
  silent.destroy();
});

test("a port that is taken is named", async () => {
  const { port } = await startShared();
  await expect(createServer({ stages: [{ driver: "null" }], port, http: { port } })).rejects.toMatchObject({
    code: "unavailable",
    message: `Cannot listen on 127.0.0.1:${port}: the port is in use; choose another, or 0 for any free one.`,
  });
});

test.each(["http1", "http2"] as const)("a connection of %s sends small writes at once", async (protocol) => {
  const users = { http1: answerInTwoWrites, http2: answerInTwoWrites };
  const shared = await listenShared({ host: "127.0.0.1", port: 0 }, users);
  onTestFinished(() => shared.close());
  const client = connect({ port: shared.port, host: "127.0.0.1", noDelay: true });
  onTestFinished(() => void client.destroy());
  expect(await shortestAnswer(client, protocol === "http2" ? "PRI" : "GET")).toBeLessThan(20);
});
