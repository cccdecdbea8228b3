import { expect, it } from "vitest";
import { MessageClock, Timed } from "../../src/grpc/message-clock.ts";

/** Resolves with how long it took until the clock ended it, in milliseconds. */
function ended(clock: MessageClock): Promise<number> {
  const started = performance.now();
  return new Promise((resolve) => clock.add(new Timed(() => resolve(performance.now() - started))));
}

it("ends each when its own time is over, also when it was idle before", async () => {
  const clock = new MessageClock(50);
  const first = ended(clock);
  await new Promise((resolve) => setTimeout(resolve, 20));
  const second = ended(clock);
  for (const ms of [await first, await second, await ended(clock)]) expect(ms).toBeGreaterThanOrEqual(45);
});

it("does not end what was taken out", async () => {
  const clock = new MessageClock(20);
  const end = new Timed(() => expect.unreachable());
  clock.add(end);
  const other = ended(clock);
  clock.delete(end);
  await other;
});
