import { expect, it, test } from "vitest";
import { FairQueue, kindOfRequest, RequestQueue } from "../../../src/hooks/host/request-queue.ts";
import { toTensors } from "../../../src/tensor/plain-value.ts";

it("does not take a request whose client has left before", async () => {
  const queue = new RequestQueue();
  const signal = AbortSignal.abort(new DOMException("left", "AbortError"));
  const waited = queue.wait({
    signature: { name: "", spec: undefined },
    inputs: { kind: "tensors", tensors: toTensors({ x: 1 }) },
    outputs: undefined,
    call: { id: "1", metadata: {}, signal },
  });
  const ran = queue.runNext(() => Promise.reject(new Error("it was run")));
  await expect(waited).rejects.toMatchObject({ code: "cancelled" });
  expect(ran).toBe(false);
});

test("the kind of a request is told by its names, and stays short however long these are", () => {
  const kindOf = (...names: string[]) =>
    kindOfRequest({
      signature: { name: "s", spec: undefined },
      inputs: { kind: "tensors", tensors: toTensors(Object.fromEntries(names.map((name) => [name, 1]))) },
      call: { id: "1", metadata: {}, signal: new AbortController().signal },
    });
  expect(kindOf("a", "b")).toBe(kindOf("a", "b"));
  expect(new Set([kindOf("a", "b"), kindOf("a,b"), kindOf("ab"), kindOf("b", "a")]).size).toBe(4);
  const long = (start: string, count: number) =>
    kindOf(...Array.from({ length: count }, (_, at) => `${start}${at}`.padEnd(4096, "\x01")));
  expect(long("a", 2048)).toBe(long("a", 2048));
  expect(new Set([long("a", 2048), long("b", 2048), long("a", 2047)]).size).toBe(3);
  expect(long("a", 2048).length).toBeLessThan(2000);
});

/** A queue of texts whose first letter is their kind. */
function queueOf(...items: string[]): FairQueue<string> {
  const queue = new FairQueue<string>();
  for (const item of items) push(queue, item);
  return queue;
}

function push(queue: FairQueue<string>, item: string, priority?: number): void {
  queue.push(item, { kind: item.charAt(0), limits: { priority } });
}

function rest(queue: FairQueue<string>): string[] {
  const items: string[] = [];
  for (let item = queue.shift(); item !== undefined; item = queue.shift()) items.push(item);
  return items;
}

test("items of one kind leave in the order they came", () => {
  expect(rest(queueOf("a1", "a2", "a3"))).toEqual(["a1", "a2", "a3"]);
});

test("kinds take turns, however many of one wait", () => {
  expect(rest(queueOf("a1", "a2", "a3", "a4", "b1", "b2", "c1"))).toEqual(["a1", "b1", "c1", "a2", "b2", "a3", "a4"]);
});

test("a kind that comes late neither waits for the others nor makes up for what it missed", () => {
  const queue = queueOf("a1", "a2", "a3", "a4");
  expect([queue.shift(), queue.shift()]).toEqual(["a1", "a2"]);
  for (const item of ["b1", "b2", "b3"]) push(queue, item);
  expect(rest(queue)).toEqual(["b1", "a3", "b2", "a4", "b3"]);
});

test("priority comes before turns: 1 first, then 2, none last", () => {
  const queue = queueOf("a1", "b1");
  push(queue, "a2", 2);
  push(queue, "a3", 1);
  expect(rest(queue)).toEqual(["a3", "a2", "a1", "b1"]);
});

test("an item that is taken out leaves its turn to the next of its kind; one that is not there is no matter", () => {
  const queue = queueOf("a1", "a2", "b1");
  queue.remove("a1");
  queue.remove("a1");
  expect(rest(queue)).toEqual(["a2", "b1"]);
});

test("a kind whose items are taken out again and again is served as often as the others", () => {
  const queue = queueOf("a1", "a2", "a3", "a4", "b1", "b2", "b3");
  for (const item of ["a1", "a3"]) queue.remove(item);
  expect(queue.shift()).toBe("a2");
  queue.remove("a4");
  for (const item of ["a5", "a6"]) push(queue, item);
  expect(rest(queue)).toEqual(["b1", "a5", "b2", "a6", "b3"]);
});

test("one that overtakes others, as all that may be taken is of its kind, takes no turn from them", () => {
  const queue = queueOf("a1", "a2", "b1", "b2");
  expect(queue.shift((kind) => kind === "b")).toBe("b1");
  expect(queue.shift((kind) => kind === "c")).toBeUndefined();
  push(queue, "c1");
  expect(rest(queue)).toEqual(["a1", "c1", "a2", "b2"]);
});

test("clearing gives all that waited", () => {
  const queue = queueOf("a1", "b1");
  expect(queue.clear()).toEqual(["a1", "b1"]);
  expect(queue.shift()).toBeUndefined();
});

test("clients take turns, and in each turn the client's priorities and kinds", () => {
  const queue = new FairQueue<string>();
  const push = (item: string, client: number, priority?: number) =>
    queue.push(item, { kind: item.charAt(0), limits: { client, priority } });
  for (const item of ["a1", "a2", "b1"]) push(item, 1, 1);
  for (const item of ["c1", "d1"]) push(item, 2);
  expect(rest(queue)).toEqual(["a1", "c1", "b1", "d1", "a2"]);
});
