import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { expect, onTestFinished, test } from "vitest";
import { createRemoteService } from "../../src/client/remote/remote-service.ts";
import { bytesField, encodeMessage, messageField } from "../../src/tensor/codecs/protobuf/wire-writer.ts";
import { toTensors } from "../../src/tensor/plain-value.ts";
import { connect } from "../grpc/byte-client.ts";
import { startServer } from "../helpers/start-server.ts";
import { tlsFile, tlsPath } from "../helpers/tls-fixture.ts";

const V2 = "/inference.GRPCInferenceService";
const WATCH = "/grpc.health.v1.Health/Watch";
const NOTHING = new Uint8Array(0);
const SERVING = Buffer.from([8, 1]);
const NOT_SERVING = Buffer.from([8, 2]);
const YES = SERVING;

async function start() {
  const server = await startServer({ stages: [{ driver: "null" }] });
  const client = connect(server.grpcAddress);
  /** Bytes of an answer over gRPC. */
  const call = async (path: string, message = NOTHING) => (await client.call(path, message)).bytes;
  /** Status and body of an answer over HTTP. */
  const get = async (path: string) => {
    const response = await fetch(server.httpUrl + path);
    return [response.status, await response.text()] as const;
  };
  return { server, client, call, get };
}

test("a server that retires is not ready on any wire, and yet lives and answers", async () => {
  const { server, client, call, get } = await start();
  const watched = client.stream(WATCH, NOTHING);
  expect((await watched.next()).value).toEqual(SERVING);
  server.retire();
  expect((await watched.next()).value).toEqual(NOT_SERVING);
  const named = Buffer.from("\n\x07default");
  const grpc = [
    call("/grpc.health.v1.Health/Check"),
    call(`${V2}/ServerReady`),
    call(`${V2}/ModelReady`, named),
    call(`${V2}/ServerLive`),
  ];
  expect(await Promise.all(grpc)).toEqual([NOT_SERVING, Buffer.alloc(0), Buffer.alloc(0), YES]);
  const paths = ["/health", "/v2/health/ready", "/v2/models/default/ready", "/v2/health/live"];
  const statuses = await Promise.all(paths.map(async (path) => (await get(path))[0]));
  expect(statuses).toEqual([503, 400, 400, 200]);
  expect(await predict(server.grpcAddress)).toEqual(Int32Array.of(1, 2));
});

test("TensorFlow Serving's clients see the models of a server that retires being unloaded", async () => {
  const { server, get } = await start();
  expect((await get("/v1/models/default"))[1]).toContain('"state": "AVAILABLE"');
  server.retire();
  expect((await get("/v1/models/default"))[1]).toContain('"state": "UNLOADING"');
});

test("an encrypted connection ends after calls that are on their way, and new ones are served", async () => {
  const tls = { cert: tlsPath("server.pem"), key: tlsPath("server.key") };
  const server = await startServer({ stages: [{ driver: "null" }], tls });
  const open = async () => {
    const session = connectHttp2(`https://${server.grpcAddress}`, { ca: tlsFile("ca.pem") });
    onTestFinished(() => session.destroy());
    await live(session);
    // What has come before an answered ping has arrived: that the server's settings have.
    await new Promise((resolve) => session.ping(resolve));
    return session;
  };
  const first = await open();
  const codes: number[] = [];
  first.on("goaway", (code) => codes.push(code));
  server.retire();
  // Other threads that listen hear of it a moment later than this one.
  while (!first.closed) await live(first);
  await expect.poll(() => codes).toEqual([0]);
  const second = await open();
  await live(second);
});

/** Calls ServerLive. */
async function live(session: ClientHttp2Session): Promise<void> {
  const headers = {
    ":method": "POST",
    ":path": `${V2}/ServerLive`,
    "content-type": "application/grpc",
    te: "trailers",
  };
  const call = session.request(headers).end(Buffer.alloc(5));
  const [trailers] = await once(call.resume(), "trailers");
  expect(trailers["grpc-status"]).toBe("0");
}

async function predict(address: string) {
  const remote = createRemoteService(address, {});
  const inputs = { kind: "tensors", tensors: toTensors({ x: [1, 2] }) } as const;
  const { signal } = new AbortController();
  const { outputs } = await remote.infer({
    ref: { model: "" },
    signature: "",
    inputs,
    call: { id: "1", metadata: {}, signal },
  });
  await remote.close();
  return outputs.kind === "tensors" && outputs.tensors.x?.data;
}

test("a call whose message is still coming when the server ends is answered", async () => {
  const server = await startServer({ stages: [{ driver: "null" }] });
  const session = connectHttp2(`http://${server.grpcAddress}`);
  await once(session, "remoteSettings");
  const headers = {
    ":method": "POST",
    ":path": `${V2}/ModelInfer`,
    "content-type": "application/grpc",
    te: "trailers",
  };
  const call = session.request(headers);
  const input = messageField(5, [
    bytesField(1, Buffer.from("x")),
    bytesField(2, Buffer.from("BYTES")),
    bytesField(3, Buffer.of(1)),
  ]);
  const message = encodeMessage([input, bytesField(7, Buffer.of(1, 0, 0, 0, 65))]);
  const bytes = Buffer.concat([Buffer.of(0, 0, 0, 0, message.length), message]);
  call.write(bytes.subarray(0, 9));
  // What has come before an answered ping has arrived.
  await new Promise((resolve) => session.ping(resolve));
  const ended = server.close();
  await once(session, "goaway");
  call.end(bytes.subarray(9));
  const [trailers] = await once(call.resume(), "trailers");
  expect(trailers["grpc-status"]).toBe("0");
  await ended;
});
