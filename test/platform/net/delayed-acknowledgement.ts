import { once } from "node:events";
import type { Duplex } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";

/** Answers each write with two. */
export function answerInTwoWrites(socket: Duplex): void {
  socket.on("error", () => {});
  socket.on("data", async () => {
    socket.write("a");
    await nextTurn();
    socket.write("b");
  });
}

/** The shortest time of many answers of {@link answerInTwoWrites}, in milliseconds; the client sends `first` before. */
export async function shortestAnswer(socket: Duplex, first = "x"): Promise<number> {
  let shortest = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 40; round++) {
    const start = performance.now();
    socket.write(round === 0 ? first : "x");
    for (let bytes = 0; bytes < 2; ) bytes += ((await once(socket, "data")) as [Buffer])[0].length;
    // A connection's first acknowledgements come at once.
    if (round >= 20) shortest = Math.min(shortest, performance.now() - start);
  }
  return shortest;
}
