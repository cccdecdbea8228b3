import { expect, it } from "vitest";
import { ByteList } from "../../src/grpc/byte-list.ts";

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
