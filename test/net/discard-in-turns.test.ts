import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { discardInTurns } from "../../src/net/discard-in-turns.ts";
import { useUpTheTurn } from "../limits/use-up-the-turn.ts";

const SENT = 2_000_000;
/** Two reads of a socket; Node makes 32 of them before it does anything else. */
const MOST_PER_TURN = 2 * 64 * 1024;

test("what a client still sends is discarded a little in each full turn, and all in the end", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  onTestFinished(() => void client.destroy());
  client.write(Buffer.alloc(SENT));
  const socket = await new Promise<Socket>((resolve) => server.once("connection", resolve));
  discardInTurns(socket);
  const perTurn: number[] = [];
  for (let before = 0; before < SENT; before = socket.bytesRead) {
    useUpTheTurn();
    await nextTurn();
    perTurn.push(socket.bytesRead - before);
  }
  expect(socket.bytesRead).toBe(SENT);
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(MOST_PER_TURN);
});
