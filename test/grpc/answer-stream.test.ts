import { randomBytes } from "node:crypto";
import { Client, credentials } from "@grpc/grpc-js";
import { expect, onTestFinished, test } from "vitest";
import { frameBytes } from "../../src/grpc/framed-message.ts";
import type { StreamRoute } from "../../src/grpc/grpc-route.ts";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import { ScriptedService, serve } from "./scripted-service.ts";

const PATH = "/toy.Service/Stream";
const COMPRESSED = { "grpc.default_compression_algorithm": 2 };

/**
 * Calls a method whose client compresses with gzip; resolves with the messages that answer, once the call has ended.
 */
async function messagesOf(stream: StreamRoute["stream"], memory = new MemoryBudget(1e8)): Promise<Buffer[]> {
  const routes = { [PATH]: { kind: "read", stream } } as const;
  const { address } = await serve(new ScriptedService(), {
    memory,
    protocols: [{ name: "toy", grpc: () => ({ routes }) }],
  });
  const client = new Client(address, credentials.createInsecure(), COMPRESSED);
  onTestFinished(() => client.close());
  const same = (bytes: Buffer) => bytes;
  const call = client.makeBidiStreamRequest(PATH, same, same);
  call.end();
  const messages: Buffer[] = [];
  for await (const message of call) messages.push(message as Buffer);
  return messages;
}

test("compressed messages arrive in the order in which they were written", async () => {
  const [slow, quick] = [randomBytes(1_000_000), randomBytes(1000)];
  const messages = await messagesOf(async ({ write }) => {
    await Promise.all([slow, quick, slow, quick].map((message) => write(frameBytes(message))));
  });
  expect(messages.map(({ length }) => length)).toEqual([slow, quick, slow, quick].map(({ length }) => length));
  expect(messages[2]?.equals(slow)).toBe(true);
});

test("a message that there is no memory to compress fails, and those after it are sent", async () => {
  const memory = new MemoryBudget(1000);
  const messages = await messagesOf(async ({ write }) => {
    const other = memory.open();
    other.grow(1000);
    await expect(write(frameBytes(randomBytes(1000)))).rejects.toMatchObject({ code: "unavailable" });
    other.release();
    await write(frameBytes(Buffer.from("next")));
  }, memory);
  expect(messages.map(String)).toEqual(["next"]);
});
