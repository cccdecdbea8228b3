import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import {
  ByteList,
  freeBuffer,
  MAX_PREALLOCATED_BYTES,
  trustedBytes,
} from "../../../../src/platform/limits/memory/byte-list.ts";

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

const MEGABYTE = 1024 * 1024;

/** Bytes that are copied at once while so many come, as often as there is other memory for them. */
function copiesOf(claimed: number): number[] {
  const copied: number[] = [];
  for (let room = MAX_PREALLOCATED_BYTES; room < claimed; room = trustedBytes(claimed, room)) copied.push(room);
  return copied;
}

it.each([
  [1, 0.02],
  [64, 1],
  [65, 2],
  [256, 4],
  [1024, 16],
  [4095, 16],
])("copies little of a message of %i MB at once, and seldom", (megabytes, most) => {
  const copies = copiesOf(megabytes * MEGABYTE);
  expect(Math.max(...copies)).toBeLessThanOrEqual(most * MEGABYTE);
  expect(copies.length).toBeLessThanOrEqual(4);
});

it("believes a client that has sent little no more than a multiple of it", () => {
  for (const arrived of [1, MAX_PREALLOCATED_BYTES, MEGABYTE])
    expect(trustedBytes(2 ** 40, arrived)).toBeLessThanOrEqual(64 * Math.max(arrived, MAX_PREALLOCATED_BYTES));
});

/** Blocks of 64 KB, each full of its number. */
function blocks(count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, index) => new Uint8Array(64 * 1024).fill(index % 251));
}

it.each([
  ["no number was announced", 0, 0],
  ["fewer were announced", 10 * MEGABYTE, 5],
])("keeps what is large in segments where %s, and joins them while other work goes on", async (_, expected, at) => {
  const list = new ByteList();
  list.expect(expected, at);
  list.useSegments();
  const all = blocks(500);
  for (const block of all) list.append(block);
  expect(list.length).toBe(500 * 64 * 1024);
  const joined = list.whole();
  expect(joined).toBeInstanceOf(Promise);
  let isJoined = false;
  let turns = 0;
  const count = async () => {
    for (; !isJoined; turns++) await setImmediate();
  };
  const counted = count();
  const whole = await joined;
  isJoined = true;
  await counted;
  expect(Buffer.compare(whole, Buffer.concat(all))).toBe(0);
  expect((whole.byteOffset + at) % 8).toBe(0);
  expect(whole.buffer.byteLength).toBeLessThan(whole.length + 8);
  expect(turns).toBeGreaterThan(20);
});

it.each([0, 40 * MEGABYTE])("needs no segments for what is small, or was announced (%i)", (expected) => {
  const list = new ByteList();
  list.expect(expected);
  list.useSegments();
  const all = blocks(expected === 0 ? 50 : 500);
  for (const block of all) list.append(block);
  expect(Buffer.compare(list.whole() as Uint8Array, Buffer.concat(all))).toBe(0);
});

it("takes nothing back that it has given away", async () => {
  for (const count of [20, 500]) {
    const list = new ByteList();
    list.useSegments();
    const all = blocks(count);
    for (const block of all) list.append(block);
    const given = list.whole();
    list.free();
    await setImmediate();
    expect(Buffer.compare(await given, Buffer.concat(all))).toBe(0);
  }
});

const held = () => process.memoryUsage().arrayBuffers;

it("leaves small memory, and what threads share, as it is", () => {
  const [small, large] = [256 * 1024 - 1, 256 * 1024].map((bytes) => new ArrayBuffer(bytes));
  for (const memory of [small, large, new SharedArrayBuffer(MEGABYTE)]) freeBuffer(memory as ArrayBufferLike);
  expect([small?.byteLength, large?.byteLength]).toEqual([256 * 1024 - 1, 0]);
});

it("gives memory back without waiting for a collection of garbage", async () => {
  const buffer = Buffer.allocUnsafeSlow(BYTES);
  // Not compared with what was held before: garbage of other tests is collected by the allocation.
  const before = held();
  freeBuffer(buffer.buffer);
  expect(buffer).toHaveLength(0);
  await setImmediate();
  await setImmediate();
  expect(before - held()).toBeGreaterThan(0.9 * BYTES);
});
