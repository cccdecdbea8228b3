import { describe, expect, it } from "vitest";
import { encodeMessage, textField } from "../../../src/codecs/protobuf/wire-writer.ts";
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

describe("Watch", () => {
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
