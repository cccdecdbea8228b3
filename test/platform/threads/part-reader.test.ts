import { expect, test } from "vitest";
import { ServingError } from "../../../src/errors.ts";
import { CancelSource } from "../../../src/platform/async/cancel-source.ts";
import { PartReader } from "../../../src/platform/threads/part-reader.ts";
import type { RpcResponse } from "../../../src/platform/threads/rpc-client.ts";

test("a part that waits for its turn while its answer ends is not written, and gives its memory back", async () => {
  const signal = new CancelSource();
  let [written, heldBytes] = [0, 0];
  const reader = new PartReader<RpcResponse>({
    signal,
    memory: {
      partBytes: 0,
      grow: (bytes) => {
        heldBytes += bytes;
      },
      shrink: (bytes) => {
        heldBytes -= bytes;
      },
    },
    client: { credit: () => {} },
    read: (received) => received,
    bytesOf: () => 10,
    write: async () => {
      written++;
    },
  });
  const settled = reader.settle(
    new Promise<void>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  );
  // More are taken in a turn of the event loop than any answer has.
  let taken = 0;
  for (; taken < 40 && written === taken; taken++) {
    reader.take({} as RpcResponse, 1);
    for (let step = 0; step < 10; step++) await undefined;
  }
  expect([taken, written]).toEqual([written + 1, taken - 1]);
  signal.abort(new ServingError("cancelled", "left"));
  await expect(settled).rejects.toThrow("left");
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  expect([written, heldBytes]).toEqual([taken - 1, 0]);
});
