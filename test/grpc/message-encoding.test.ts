import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { frameBytes } from "../../src/grpc/framed-message.ts";
import { compressMessage, readEncoding } from "../../src/grpc/message-encoding.ts";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";

const MESSAGE = randomBytes(100_000);

test("an answer's compressed bytes count while they are made", async () => {
  const memory = new MemoryBudget(1).open();
  const framed = await compressMessage(frameBytes(MESSAGE), "gzip", memory);
  expect(memory.bytes).toBe(framed.reduce((sum, piece) => sum + piece.length, -5));
});

test("an answer is not compressed where other requests leave no room", async () => {
  const budget = new MemoryBudget(MESSAGE.length);
  budget.open().grow(MESSAGE.length);
  const compressing = compressMessage(frameBytes(MESSAGE), "gzip", budget.open());
  await expect(compressing).rejects.toMatchObject({ code: "unavailable" });
});

test.each([
  ["identity, gzip", "gzip"],
  ["gzip", "gzip"],
  ["identity,deflate", undefined],
  // In a time that grows with its square, a text of so many spaces would take minutes.
  [`a${" ".repeat(1_000_000)}b ,\tgzip`, "gzip"],
])("an answer is compressed where %.20s lists the request's encoding", (accepted, response) => {
  const headers = { "grpc-encoding": "gzip", "grpc-accept-encoding": accepted };
  expect(readEncoding(headers)).toEqual({ request: "gzip", response });
});
