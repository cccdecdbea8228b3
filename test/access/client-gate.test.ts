import { expect, onTestFinished, test, vi } from "vitest";
import { LocalGate } from "../../src/access/client-gate.ts";

const CALL = { address: "198.51.100.7", host: undefined, headers: {} };

async function* three(): AsyncIterable<Uint8Array> {
  for (const byte of [1, 2, 3]) yield Uint8Array.of(byte);
}

test("messages of a stream come at their client's rate, the first with its call", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const gate = new LocalGate({ key: ({ address }) => address, rate: 2, burst: 1, maxInFlight: 0 });
  gate.enter(CALL);
  const got: (number | undefined)[] = [];
  const reading = (async () => {
    for await (const [byte] of gate.pace(CALL, three())) got.push(byte);
  })();
  await vi.advanceTimersByTimeAsync(0);
  expect(got).toEqual([1]);
  await vi.advanceTimersByTimeAsync(499);
  expect(got).toEqual([1]);
  await vi.advanceTimersByTimeAsync(1);
  expect(got).toEqual([1, 2]);
  await vi.advanceTimersByTimeAsync(500);
  await reading;
  expect(got).toEqual([1, 2, 3]);
});

test("a refusal is told with its client, to the caller and to who looks after the server", () => {
  const refused: string[][] = [];
  const onRefused = (...refusal: [string, string]) => void refused.push(refusal);
  const gate = new LocalGate({ key: ({ address }) => address, rate: 0, maxInFlight: 1, onRefused });
  const end = gate.enter(CALL);
  expect(() => gate.enter(CALL)).toThrow(expect.objectContaining({ code: "resource_exhausted" }));
  expect(refused).toEqual([[CALL.address, expect.stringContaining("1 request in flight")]]);
  end();
  gate.enter(CALL);
  gate.enterAs("another")();
  expect(refused).toHaveLength(1);
});
