import { MessageChannel } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import { Channel } from "../../../src/platform/threads/channel.ts";
import type { WireRecord } from "../../../src/platform/threads/frame.ts";
import { FrameWriter } from "../../../src/platform/threads/frame-writer.ts";
import { type HostPort, toHostPort } from "../../../src/platform/threads/host-port.ts";
import { DTYPES, numericLayout } from "../../../src/tensor/dtype.ts";
import { createPackedTensor } from "../../../src/tensor/packed-tensor.ts";
import { byteSize, createTensor, createTensors, type Tensor } from "../../../src/tensor/tensor.ts";
import { NOTHING } from "./plain-record.ts";

/** Two channels facing each other; `next` gives the records that arrived at the right one, in order. */
function linked(flushing: "soon" | "held" = "soon") {
  const { port1, port2 } = new MessageChannel();
  const arrived: WireRecord[] = [];
  const waiting: ((record: WireRecord) => void)[] = [];
  const left = new Channel(toHostPort(port1), () => {}, flushing);
  const right = new Channel(toHostPort(port2), (record) => {
    const take = waiting.shift();
    if (take === undefined) arrived.push(record);
    else take(record);
  });
  onTestFinished(() => left.close());
  const next = () =>
    new Promise<WireRecord>((resolve) =>
      arrived.length > 0 ? resolve(arrived.shift() as WireRecord) : waiting.push(resolve),
    );
  return { left, right, next };
}

/** A tensor of a dtype with the given elements, filled with a pattern. */
function patterned(dtype: (typeof DTYPES)[number], count: number): Tensor {
  if (dtype === "bytes") {
    const elements = Array.from({ length: count }, (_, index) => new Uint8Array(index % 5).fill(index));
    return createTensor("bytes", [count], elements);
  }
  const { array, slots } = numericLayout(dtype);
  const data = new array(count * slots);
  new Uint8Array(data.buffer).forEach((_, index, bytes) => {
    bytes[index] = index % 251;
  });
  return createTensor(dtype, [count], data as never);
}

describe.each(DTYPES.map((dtype) => [dtype]))("%s tensors", (dtype) => {
  test.each([0, 1, 3, 20_000])("of %i elements arrive as they were", async (count) => {
    const { left, next } = linked();
    const tensors = createTensors([
      ["x", patterned(dtype, count)],
      ["y", patterned(dtype, 2)],
    ]);
    const expected = structuredClone(Object.entries(tensors));
    left.send({ ...NOTHING, kind: 1, id: 2, tensors });
    expect(Object.entries((await next()).tensors ?? {})).toEqual(expected);
  });
});

test("names, meta and rank 0 arrive as they were", async () => {
  const { left, next } = linked();
  const meta = { text: "né", list: [1, null, { a: true }] };
  const scalar = createTensor("float64", [], Float64Array.of(0.1));
  left.send({
    kind: 7,
    id: 2 ** 31 - 1,
    meta,
    tensors: createTensors([
      ["__proto__", scalar],
      ["", scalar],
      ["名", scalar],
    ]),
  });
  const record = await next();
  expect(record).toMatchObject({ kind: 7, id: 2 ** 31 - 1, meta });
  expect(Object.entries(record.tensors ?? {})).toEqual([
    ["__proto__", scalar],
    ["", scalar],
    ["名", scalar],
  ]);
});

test("records of one turn arrive in order, large and small mixed", async () => {
  const { left, next } = linked();
  for (let id = 0; id < 200; id++) {
    const size = id % 3 === 0 ? 10_000 : 4;
    left.send({
      kind: 0,
      id,
      meta: { id },
      tensors: createTensors([["x", createTensor("int32", [size], new Int32Array(size).fill(id))]]),
    });
  }
  for (let id = 0; id < 200; id++) {
    const { meta, tensors } = await next();
    expect(meta).toEqual({ id });
    expect(tensors?.x?.data[tensors.x.data.length - 1]).toBe(id);
  }
});

describe("a large tensor", () => {
  const large = () => createTensor("float32", [10_000], new Float32Array(10_000).fill(3));

  test("stays with the sender unless it is given", async () => {
    const { left, next } = linked();
    const kept = large();
    left.send({ ...NOTHING, kind: 0, id: 0, tensors: createTensors([["x", kept]]) });
    expect((await next()).tensors?.x).toEqual(large());
    expect(kept.data).toEqual(large().data);
  });

  test("is gone from the sender once it is given", async () => {
    const { left, next } = linked();
    const given = large();
    left.send({ ...NOTHING, kind: 0, id: 0, tensors: createTensors([["x", given]]) }, { transfer: true });
    expect((await next()).tensors?.x).toEqual(large());
    expect(given.data).toHaveLength(0);
  });

  test("given to a port that copies is not copied before, and may be given again", () => {
    const posted: unknown[] = [];
    const ignore = () => {};
    const post = (message: unknown) => posted.push(message);
    const port = { copies: true, post, onMessage: ignore, onClose: ignore, close: ignore };
    const channel = new Channel(port, ignore, "held");
    const given = large();
    for (const id of [0, 1]) {
      channel.send({ ...NOTHING, kind: 0, id, tensors: createTensors([["x", given]]) }, { transfer: true });
      channel.flush();
    }
    expect(posted.map((frame) => (frame as ArrayBuffer[])[1] === given.data.buffer)).toEqual([true, true]);
  });

  test("that shares its buffer with another of the record, and no other, is transferred with it", async () => {
    const { left, next } = linked();
    const buffer = new ArrayBuffer(400_000);
    const halves = [0, 200_000].map((offset) =>
      createTensor("int8", [200_000], new Int8Array(buffer, offset, 200_000)),
    );
    halves[1]?.data.fill(2 as never);
    left.send(
      { ...NOTHING, kind: 0, id: 0, tensors: createTensors(halves.map((half, index) => [`${index}`, half])) },
      { transfer: true },
    );
    const arrived = Object.values((await next()).tensors ?? {});
    expect(arrived.map(({ data }) => [data.length, data[199_999]])).toEqual([
      [200_000, 0],
      [200_000, 2],
    ]);
    expect(buffer.byteLength).toBe(0);
  });

  test("given twice, or as a part of a larger buffer, arrives whole", async () => {
    const { left, next } = linked();
    const twice = large();
    const slab = new Float32Array(40_000).fill(5);
    const part = createTensor("float32", [10_000], slab.subarray(10_000, 20_000));
    const tensors = createTensors([
      ["a", twice],
      ["b", twice],
      ["part", part],
    ]);
    left.send({ ...NOTHING, kind: 0, id: 0, tensors }, { transfer: true });
    const arrived = (await next()).tensors;
    expect([arrived?.a, arrived?.b]).toEqual([large(), large()]);
    expect(arrived?.part?.data[9_999]).toBe(5);
    expect(slab).toHaveLength(40_000);
  });
});

describe("a channel", () => {
  test("that holds posts nothing until it is flushed", async () => {
    const { left, next } = linked("held");
    left.send({ ...NOTHING, kind: 0, id: 1 });
    const first = next();
    const turn = new Promise((resolve) => setImmediate(() => setImmediate(() => resolve("nothing"))));
    expect(await Promise.race([first, turn])).toBe("nothing");
    left.flush();
    expect(await first).toEqual({ ...NOTHING, kind: 0, id: 1 });
  });

  test("tells both sides when it ends, posts what was sent before, and takes no more", async () => {
    const { left, right, next } = linked();
    const closed = new Promise<void>((resolve) => right.onClose(resolve));
    left.send({ ...NOTHING, kind: 0, id: 1 });
    left.close();
    expect(await next()).toEqual({ ...NOTHING, kind: 0, id: 1 });
    await closed;
    expect(right.isOpen).toBe(false);
    left.send({ ...NOTHING, kind: 0, id: 2 });
    right.send({ ...NOTHING, kind: 0, id: 3 });
  });
});

describe("a record that cannot be written", () => {
  const huge = createTensor("float32", [0, 2 ** 31], new Float32Array(0));
  const detached = { dtype: "float32", shape: [3], data: new Float32Array(0) } as unknown as Tensor;

  test.each([
    ["has a dimension of 2^31", huge],
    ["was given away", detached],
  ])("because a tensor %s leaves the others of its frame whole", async (_, tensor) => {
    const { left, next } = linked();
    const large = createTensor("float32", [10_000], new Float32Array(10_000).fill(3));
    left.send({ ...NOTHING, kind: 1, id: 1, tensors: createTensors([["x", patterned("int32", 3)]]) });
    expect(() =>
      left.send(
        {
          ...NOTHING,
          kind: 1,
          id: 2,
          tensors: createTensors([
            ["large", large],
            ["x", tensor],
          ]),
        },
        { transfer: true },
      ),
    ).toThrow();
    left.send({ ...NOTHING, kind: 1, id: 3, tensors: createTensors([["large", large]]) }, { transfer: true });
    expect(await next()).toMatchObject({ id: 1, tensors: { x: patterned("int32", 3) } });
    const last = await next();
    expect(last.id).toBe(3);
    expect(last.tensors?.large?.data[9_999]).toBe(3);
  });
});

test("one tensor given on two channels arrives on both", async () => {
  const tensor = createTensor("float32", [10_000], new Float32Array(10_000).fill(7));
  const channels = [linked(), linked()];
  for (const { left } of channels)
    left.send({ ...NOTHING, kind: 0, id: 0, tensors: createTensors([["x", tensor]]) }, { transfer: true });
  for (const { next } of channels) expect((await next()).tensors?.x?.data[9_999]).toBe(7);
});

test("a tensor of more than 2 GB is refused with its name and size, and the channel goes on", async () => {
  const { left, next } = linked();
  // The system gives no memory for zeros that nothing reads.
  const zeros = new Float32Array(2 ** 29);
  const tensors = createTensors([["y", createTensor("float32", [zeros.length], zeros)]]);
  const refused = { code: "resource_exhausted", message: expect.stringMatching(/^y has 2147483648 bytes/) };
  expect(() => left.send({ ...NOTHING, kind: 1, id: 2, tensors })).toThrow(expect.objectContaining(refused));
  left.send({ ...NOTHING, kind: 1, id: 3 });
  expect(await next()).toMatchObject({ id: 3 });
});

describe("a message with a tensor of millions of elements", () => {
  const COUNT = 3_000_000;

  /** Delivers it with a small one behind it, lets the other side close, and gives what comes of them. */
  function deliver(change: (ranges: Uint32Array) => unknown = () => {}) {
    const came: unknown[] = [];
    const listeners: { message?: (message: unknown) => void; close: () => void }[] = [];
    const port: HostPort = {
      post: () => {},
      onMessage: (message) => void listeners.push({ message, close: () => {} }),
      onClose: (close) => void listeners.push({ close }),
      close: () => {},
    };
    const channel = new Channel(port, ({ id, tensors }) => came.push([id, tensors?.x && byteSize(tensors.x)]));
    channel.onClose(() => came.push("closed"));
    channel.onMalformed(({ message }) => came.push(message));
    const ranges = Uint32Array.from({ length: 2 * COUNT }, (_, at) => (at + 1) >> 1);
    change(ranges);
    const many = createPackedTensor([COUNT], { content: new Uint8Array(COUNT), ranges, byteLength: COUNT });
    for (const [id, x] of [many, createTensor("int8", [1], Int8Array.of(1))].entries()) {
      const writer = new FrameWriter();
      writer.write({ ...NOTHING, kind: 1, id, tensors: createTensors([["x", x]]) }, false);
      for (const { message } of listeners) message?.(writer.take().frame);
    }
    for (const { close } of listeners) close();
    expect(came).toEqual([]);
    return { channel, came };
  }

  test("is read in turns, those behind it after it, and its end is told last", async () => {
    const { came } = deliver();
    await expect.poll(() => came).toEqual([[0, COUNT], [1, 1], "closed"]);
  });

  test("is given up where its elements lie elsewhere, or this side has closed", async () => {
    const wrong = deliver((ranges) => ranges.fill(COUNT + 1, -1));
    await expect.poll(() => wrong.came).toEqual([`it has an element from ${COUNT - 1} to ${COUNT + 1}`, "closed"]);
    const left = deliver();
    left.channel.close();
    await expect.poll(() => left.came).toEqual(["closed"]);
  });
});
