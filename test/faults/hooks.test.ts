import { fileURLToPath } from "node:url";
import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { decodePredictResponse } from "../../src/protocols/tensorflow-serving/grpc-codec.ts";
import { PREDICT_PATH } from "../../src/protocols/tensorflow-serving/grpc-service.ts";
import { ByteClient } from "../grpc/byte-client.ts";
import { type FaultServer, predictMessage, startFaultServer } from "./fault-server.ts";
import { FAULTS } from "./faulty-hooks.ts";

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));
/** Too many to be copied when they are handed on. */
const COUNT = 10_000;

let server: FaultServer;
beforeAll(async () => {
  // One client that ends so many threads would have to wait.
  const limits = ["--hook-timeout", "1", "--hook-stall", "0.5", "--hook-memory", "64", "--poison-requests", "0"];
  const stage = ["--driver", file("faulty-driver.ts"), "--model-path", "none"];
  server = await startFaultServer(["--hooks", file("faulty-hooks.ts"), "--drain-timeout", "5", ...limits], stage);
});
afterAll(() => server.stop());

/** The first value that comes back; rejects with the status. */
async function ask(fault: number): Promise<number> {
  const client = new ByteClient(`127.0.0.1:${server.grpcPort}`);
  onTestFinished(() => client.close());
  const { bytes } = await client.call(PREDICT_PATH, predictMessage(COUNT, fault));
  return Number(decodePredictResponse(bytes, 2 ** 30).outputs.x?.data[0]);
}

describe("a hook that misbehaves fails its own request, and the next one is answered:", () => {
  test.each([
    ["throws", status.INTERNAL, /^The hook preprocess failed: broken$/],
    ["rejects", status.INTERNAL, /^The hook preprocess failed: broken$/],
    ["throws what is no Error", status.INTERNAL, /^The hook preprocess failed: broken$/],
    ["never settles", status.DEADLINE_EXCEEDED, /has not returned within 1000 ms/],
    ["spins forever", status.UNAVAILABLE, /the hooks' thread has ended/],
    ["allocates until its limit", status.UNAVAILABLE, /the hooks' thread has ended/],
    ["keeps buffers until its limit", status.UNAVAILABLE, /the hooks' thread has ended/],
    ["ends its thread", status.UNAVAILABLE, /the hooks' thread has ended/],
    ["uses a tensor that it handed on", status.INTERNAL, /returned what cannot be sent: .* but 0 were given/],
    ["is terminated while images are encoded", status.UNAVAILABLE, /the hooks' thread has ended/],
    ["is terminated while its model runs", status.UNAVAILABLE, /the hooks' thread has ended/],
  ] as const)("it %s", async (fault, code, details) => {
    await expect(ask(FAULTS[fault])).rejects.toMatchObject({ code, details: expect.stringMatching(details) });
    await server.answersNext();
  });
});

describe("a hook may do what is odd, and its own request is answered too:", () => {
  test.each([
    ["keeps a handle open", FAULTS["keeps a handle open"]],
    ["changes its inputs", 1],
    ["returns a tensor twice", FAULTS["returns a tensor twice"]],
    ["lets a promise be rejected later", FAULTS["lets a promise be rejected later"]],
  ] as const)("it %s", async (fault, answer) => {
    expect(await ask(FAULTS[fault])).toBe(answer);
    await server.answersNext();
  });
});
