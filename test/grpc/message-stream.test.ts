import type { ServerHttp2Stream } from "node:http2";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { MessageClock } from "../../src/grpc/message-clock.ts";
import { MessageStream } from "../../src/grpc/message-stream.ts";
import { MemoryBudget } from "../../src/limits/memory-budget.ts";
import { useUpTheTurn } from "../limits/use-up-the-turn.ts";
import { openStream } from "./open-stream.ts";

/** The beginning of a message of a megabyte. */
const PREFIX = Buffer.of(0, 0, 16, 0, 0);

async function readAll(stream: ServerHttp2Stream): Promise<void> {
  const clock = new MessageClock(60_000);
  const memory = new MemoryBudget(1e9).open();
  const limits = { maxBytes: 1000, memory, messageTimeoutMs: 60_000, clock, compression: undefined };
  for await (const _ of new MessageStream(stream, limits));
}

it("messages that come together and cannot be taken are refused in turns, each for its own fault", async () => {
  const streams = await Promise.all(Array.from({ length: 20 }, openStream));
  const codes: string[] = [];
  const perTurn = [0];
  for (const { stream } of streams) {
    readAll(stream).catch(({ code }) => {
      codes.push(code);
      perTurn[perTurn.length - 1]!++;
      useUpTheTurn();
    });
  }
  // The end of a stream that is cut short would be a fault too.
  for (const { request } of streams) request.end(PREFIX);
  while (codes.length < streams.length) {
    perTurn.push(0);
    await nextTurn();
  }
  expect(new Set(codes)).toEqual(new Set(["resource_exhausted"]));
  expect(Math.max(...perTurn)).toBeLessThan(4);
});
