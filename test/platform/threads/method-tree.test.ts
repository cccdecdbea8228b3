import { expect, test } from "vitest";
import { fromMethodTree, toMethodTree } from "../../../src/platform/threads/method-tree.ts";

/** Takes the functions out and puts calls of them in their places, as if another thread were between. */
function cross(value: unknown) {
  const { data, methods } = toMethodTree(value);
  const call = async (path: string, args: readonly unknown[]) => methods.get(path)?.(...args);
  return fromMethodTree(structuredClone(data), call);
}

test("functions at any depth, in lists too, can be called from the other side", async () => {
  const tree = cross({
    session: { run: (x: number) => x + 1, names: ["a"] },
    steps: [(text: string) => `${text}!`, { stop: async () => "stopped" }],
  }) as { session: { run: unknown; names: string[] }; steps: [unknown, { stop: unknown }] };
  const call = (method: unknown, ...args: unknown[]) => (method as (...args: unknown[]) => Promise<unknown>)(...args);
  expect(await call(tree.session.run, 1)).toBe(2);
  expect(await call(tree.steps[0], "go")).toBe("go!");
  expect(await call(tree.steps[1].stop)).toBe("stopped");
  expect(tree.session.names).toEqual(["a"]);
});

test("a function by itself has the empty path", async () => {
  const { data, methods } = toMethodTree(() => 1);
  expect(data).toEqual({ $method: "" });
  expect([...methods.keys()]).toEqual([""]);
});

test("plain data, typed arrays and absent values stay what they are", () => {
  const plain = { text: "a", none: null, missing: undefined, data: Int8Array.of(1), list: [1, [2n]] };
  expect(cross(plain)).toEqual(plain);
});

test("a function that rejects rejects on the other side", async () => {
  const tree = cross({ run: () => Promise.reject(new Error("broken")) }) as { run: () => Promise<unknown> };
  await expect(tree.run()).rejects.toThrow("broken");
});
