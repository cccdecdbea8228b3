import { expect, it } from "vitest";
import { SharedSession } from "../../../../src/drivers/onnx/native/native-engine.ts";

it("loads a session once for all copies of a model, and frees it after the last", () => {
  const memory = new SharedArrayBuffer(16);
  const copies = [new SharedSession(memory), new SharedSession(memory)];
  const freed: bigint[] = [];
  const addresses = copies.map((copy) => copy.acquire(() => 0x7fff_1234_5678_9abcn));
  expect(addresses).toEqual([0x7fff_1234_5678_9abcn, 0x7fff_1234_5678_9abcn]);
  copies[0]?.release((session) => freed.push(session));
  expect(freed).toEqual([]);
  expect(new SharedSession(memory).acquire(() => 1n)).toBe(addresses[0]);
  copies[0]?.release((session) => freed.push(session));
  copies[1]?.release((session) => freed.push(session));
  expect(freed).toEqual([addresses[0]]);
});

it("is loaded by the next copy where loading failed", () => {
  const memory = new SharedArrayBuffer(16);
  const fail = () => {
    throw new Error("no memory");
  };
  expect(() => new SharedSession(memory).acquire(fail)).toThrow("no memory");
  expect(new SharedSession(memory).acquire(() => 5n)).toBe(5n);
});
