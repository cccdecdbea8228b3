import { expect, test } from "vitest";
import { NativeObject } from "../../src/native/native-object.ts";

test("frees its pointer once, however often it is released", () => {
  const freed: bigint[] = [];
  const object = new NativeObject(5n, (pointer) => freed.push(pointer));
  expect(freed).toEqual([]);
  object.release();
  object.release();
  expect(freed).toEqual([5n]);
});

test("frees a pointer that was forgotten with the garbage", async () => {
  const { setFlagsFromString } = await import("node:v8");
  const { runInNewContext } = await import("node:vm");
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const freed = new Promise((resolve) => forget(resolve));
  const collecting = setInterval(collectGarbage, 5);
  expect(await freed.finally(() => clearInterval(collecting))).toBe(7n);
});

function forget(onFree: (pointer: bigint) => void): void {
  new NativeObject(7n, onFree);
}
