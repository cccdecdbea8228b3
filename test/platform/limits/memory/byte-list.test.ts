import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { ByteList, freeBuffer, MAX_PREALLOCATED_BYTES } from "../../../../src/platform/limits/memory/byte-list.ts";

const BYTES = 100_000_000;

it("keeps one block as a view, and joins several in order without changing them", () => {
  const list = new ByteList();
  const first = Uint8Array.of(1, 2);
  list.append(new Uint8Array(0));
  list.append(first);
  expect(list.contents().buffer).toBe(first.buffer);
  for (let value = 3; value < 100; value++) list.append(Uint8Array.of(value));
  expect([...list.contents()]).toEqual(Array.from({ length: 99 }, (_, index) => index + 1));
  expect(first).toEqual(Uint8Array.of(1, 2));
});

it("does not write behind a view into the buffer that it shows", () => {
  const message = Uint8Array.of(1, 2, 3, 4);
  const list = new ByteList();
  list.append(message.subarray(0, 2));
  list.append(Uint8Array.of(9));
  expect(message).toEqual(Uint8Array.of(1, 2, 3, 4));
  expect([...list.contents()]).toEqual([1, 2, 9]);
});

it("has no more room than was expected, and believes no more at once than a frame of HTTP/2", () => {
  const list = new ByteList();
  list.expect(100);
  for (let value = 0; value < 100; value++) list.append(Uint8Array.of(value));
  expect(list.contents().buffer.byteLength).toBe(100);
  list.append(Uint8Array.of(100));
  expect([...list.contents()]).toEqual(Array.from({ length: 101 }, (_, index) => index));
  const claimed = new ByteList();
  claimed.expect(2 ** 40);
  claimed.append(Uint8Array.of(1));
  claimed.append(Uint8Array.of(2));
  expect(claimed.contents().buffer.byteLength).toBe(MAX_PREALLOCATED_BYTES);
});

it.each([0, 1, 7, 8, 93])("puts the byte at %i where numbers can be viewed, once blocks are copied", (alignedAt) => {
  const list = new ByteList();
  list.expect(200, alignedAt);
  for (let value = 0; value < 200; value++) list.append(Uint8Array.of(value));
  const contents = list.contents();
  expect([...contents]).toEqual(Array.from({ length: 200 }, (_, index) => index));
  expect((contents.byteOffset + alignedAt) % 8).toBe(0);
});

const held = () => process.memoryUsage().arrayBuffers;

it("gives memory back without waiting for a collection of garbage", async () => {
  const before = held();
  const buffer = Buffer.allocUnsafeSlow(BYTES);
  expect(held() - before).toBeGreaterThan(0.9 * BYTES);
  freeBuffer(buffer.buffer);
  expect(buffer).toHaveLength(0);
  await setImmediate();
  await setImmediate();
  expect(held() - before).toBeLessThan(0.1 * BYTES);
});
