import { fileURLToPath } from "node:url";
import { status } from "@grpc/grpc-js";
import { expect, onTestFinished, test } from "vitest";
import { PREDICT_PATH } from "../../src/protocols/tensorflow-serving/grpc-service.ts";
import { ByteClient } from "../grpc/byte-client.ts";
import { type FaultServer, predictMessage, startFaultServer } from "./fault-server.ts";
import { FAULTS } from "./faulty-driver.ts";

const STAGE = ["--driver", fileURLToPath(new URL("faulty-driver.ts", import.meta.url)), "--model-path", "none"];

async function start(flags: readonly string[] = []): Promise<FaultServer> {
  const server = await startFaultServer(flags, STAGE);
  onTestFinished(() => server.kill());
  return server;
}

/** Calls with these faults, in this order: they share a connection. */
function ask(server: FaultServer, ...faults: readonly number[]): Promise<unknown>[] {
  const client = new ByteClient(`127.0.0.1:${server.grpcPort}`);
  onTestFinished(() => client.close());
  return faults.map((fault) => client.call(PREDICT_PATH, predictMessage(3, fault)));
}

test("a model that throws fails its own request, and the next one is answered", async () => {
  const server = await start();
  await expect(ask(server, FAULTS.throws)[0]).rejects.toMatchObject({
    code: status.INTERNAL,
    details: "The faulty model failed: broken",
  });
  await server.answersNext();
  await server.stop();
});

test("a model that blocks is replaced, what waited for it fails, and the next request is answered", async () => {
  const server = await start(["--model-stall", "0.5"]);
  const lost = { code: status.UNAVAILABLE, details: expect.stringMatching(/the model's thread has ended/) };
  const calls = ask(server, FAULTS.blocks, 0);
  await Promise.all(calls.map((call) => expect(call).rejects.toMatchObject(lost)));
  await expect.poll(() => server.answersNext().then(() => true), { timeout: 10_000 }).toBe(true);
});

test("a server that receives SIGTERM while its model predicts answers first", async () => {
  const server = await start();
  // What throws came after the slow one on its way, and is refused at once.
  const [slow, failed] = ask(server, FAULTS["is slow"], FAULTS.throws);
  await failed!.catch(() => {});
  const stopped = server.stop();
  await slow;
  await stopped;
});
