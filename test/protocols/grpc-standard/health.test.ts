import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { describe, expect, it, onTestFinished } from "vitest";
import { encodeMessage, textField } from "../../../src/tensor/codecs/protobuf/wire-writer.ts";
import { connect } from "../../grpc/byte-client.ts";
import { ScriptedService, serve } from "../../grpc/scripted-service.ts";

const SERVING = Buffer.from([8, 1]);
const NOT_SERVING = Buffer.from([8, 2]);
const SERVICE_UNKNOWN = Buffer.from([8, 3]);

const named = (name: string) => encodeMessage([textField(1, name)]);

async function start() {
  const service = new ScriptedService();
  const server = await serve(service);
  return { service, server, client: connect(server.address) };
}

const NAMES = [
  "",
  "tensorflow.serving.PredictionService",
  "tensorflow.serving.ModelService",
  "tensorflow.serving.SessionService",
  "inference.GRPCInferenceService",
  "PredictionService",
  "ModelService",
];

describe("Check", () => {
  it.each(NAMES)('follows the service under the name "%s"', async (name) => {
    const { client, service } = await start();
    const check = async () => (await client.call("/grpc.health.v1.Health/Check", named(name))).bytes;
    expect(await check()).toEqual(SERVING);
    service.setReady(false);
    expect(await check()).toEqual(NOT_SERVING);
    service.setReady(true);
    expect(await check()).toEqual(SERVING);
  });

  it("does not know other names, and refuses what is malformed", async () => {
    const { client } = await start();
    await expect(client.call("/grpc.health.v1.Health/Check", named("nope"))).rejects.toMatchObject({
      code: 5,
      details: 'There is no service "nope"; ask for "", which is the whole server.',
    });
    await expect(client.call("/grpc.health.v1.Health/Check", Buffer.from([0x0a, 9]))).rejects.toMatchObject({
      code: 3,
    });
  });
});

describe("List", () => {
  it("reports every name's status", async () => {
    const { client } = await start();
    const { bytes } = await client.call("/grpc.health.v1.Health/List", new Uint8Array(0));
    const entry = (name: string) => [0x0a, name.length + 6, 0x0a, name.length, ...Buffer.from(name), 0x12, 2, 8, 1];
    expect([...bytes]).toEqual(NAMES.flatMap(entry));
  });
});

/** A stream of statuses on a connection whose windows are that large; resolves with what begins its answer. */
async function watchBy(session: ClientHttp2Session): Promise<IncomingHttpHeaders> {
  const headers = { ":method": "POST", ":path": "/grpc.health.v1.Health/Watch", "content-type": "application/grpc" };
  const stream = session.request({ ...headers, te: "trailers" });
  stream.on("error", () => {}).end(Buffer.alloc(5));
  const [answer] = await once(stream, "response");
  return answer;
}

function openSession(address: string, settings = {}): ClientHttp2Session {
  const session = connectHttp2(`http://${address}`, { settings });
  onTestFinished(() => session.destroy());
  return session.on("error", () => {});
}

describe("Watch", () => {
  it("has no more streams of a client than some, and has room again when they end", async () => {
    const { server, client } = await start();
    const sessions = Array.from({ length: 11 }, () => openSession(server.address));
    const watch = async (session: ClientHttp2Session) => (await watchBy(session))["grpc-status"];
    const all = await Promise.all(sessions.flatMap((session) => Array.from({ length: 95 }, () => watch(session))));
    expect(all.filter((status) => status === "8")).toHaveLength(45);
    sessions[0]!.destroy();
    await expect.poll(() => watch(openSession(server.address))).toBeUndefined();
    expect((await client.call("/grpc.health.v1.Health/Check", named(""))).bytes).toEqual(SERVING);
  });

  it("does not keep the server from closing where nothing is read", async () => {
    const { server, service } = await start();
    for (let count = 0; count < 3; count++) await watchBy(openSession(server.address, { initialWindowSize: 0 }));
    for (let change = 0; change < 100; change++) service.setReady(change % 2 === 1);
    await server.close(600_000);
  });

  it("reports the status now and each change once", async () => {
    const { client, service } = await start();
    const messages = client.stream("/grpc.health.v1.Health/Watch", new Uint8Array(0));
    expect((await messages.next()).value).toEqual(SERVING);
    for (const ready of [true, false, false, true]) service.setReady(ready);
    expect((await messages.next()).value).toEqual(NOT_SERVING);
    expect((await messages.next()).value).toEqual(SERVING);
  });

  it("reports an unknown name, and keeps the stream open until the server closes", async () => {
    const { client, server, service } = await start();
    const messages = client.stream("/grpc.health.v1.Health/Watch", named("nope"));
    expect((await messages.next()).value).toEqual(SERVICE_UNKNOWN);
    service.setReady(false);
    const closing = server.close(600_000);
    await expect(messages.next()).rejects.toMatchObject({ code: 14 });
    await closing;
  });

  it("turns to NOT_SERVING as the server closes, and does not keep it from draining", async () => {
    const { client, server, service } = await start();
    const messages = client.stream("/grpc.health.v1.Health/Watch", new Uint8Array(0));
    expect((await messages.next()).value).toEqual(SERVING);
    const closing = server.close(600_000);
    expect((await messages.next()).value).toEqual(NOT_SERVING);
    await expect(messages.next()).rejects.toMatchObject({ code: 14, details: "The server is shutting down." });
    await closing;
    expect(service.listeners.size).toBe(0);
  });
});
