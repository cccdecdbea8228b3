import { MessageChannel } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import { createDeferred } from "../../../src/platform/async/promises.ts";
import { toHostPort } from "../../../src/platform/threads/host-port.ts";
import { Responder, type ResponderOptions } from "../../../src/platform/threads/responder.ts";
import { FIRST_REQUEST, RpcClient } from "../../../src/platform/threads/rpc-client.ts";
import { createTensor, createTensors, type Tensor } from "../../../src/tensor/tensor.ts";
import { NOTHING } from "./plain-record.ts";

const kind = FIRST_REQUEST;

function connect(options: ResponderOptions) {
  const { port1, port2 } = new MessageChannel();
  const client = new RpcClient(toHostPort(port1), "the other side");
  new Responder(toHostPort(port2), options);
  onTestFinished(() => client.close());
  return client;
}

const float32 = (shape: number[], size: number): Tensor => createTensor("float32", shape, new Float32Array(size));

describe("an answer that cannot be sent is the answerer's fault, and others go on:", () => {
  test.each<[string, object, string]>([
    ["a rank of 300", { x: float32(Array(300).fill(1), 1) }, "x has rank 300; expected 254 at most."],
    [
      "a dimension of 2^31",
      { x: float32([2 ** 31, 0], 0) },
      "x has a dimension of 2147483648; expected less than 2^31.",
    ],
    ["a tensor that is given away", { x: { ...float32([3], 3), data: new Float32Array(0) } }, "x has 0 values"],
    ["a negative dimension", { x: { ...float32([1], 1), shape: [-1] } }, "Shape [-1] has dimension -1"],
  ])("%s", async (_, tensors, message) => {
    const client = connect({
      answer: async ({ meta }) =>
        meta === "bad"
          ? { meta: undefined, tensors: createTensors(Object.entries(tensors)) }
          : { meta, tensors: undefined },
    });
    await expect(client.ask({ ...NOTHING, kind, meta: "bad" })).rejects.toMatchObject({
      code: "internal",
      message: expect.stringContaining(`The answer cannot be sent: ${message}`),
    });
    expect((await client.ask({ ...NOTHING, kind, meta: "good" })).meta).toBe("good");
  });

  test("plain data that JSON cannot hold", async () => {
    const client = connect({ answer: async () => ({ ...NOTHING, meta: { big: 1n } }) });
    await expect(client.ask({ ...NOTHING, kind })).rejects.toMatchObject({ code: "internal" });
  });
});

test.each([
  ["with a bigint as its stack", () => Object.assign(new Error("x"), { stack: 1n })],
  ["with an object as its message", () => Object.assign(new Error("x"), { message: { at: 1n } })],
  ["that is no error and has no text", () => Object.create(null)],
])("a failure %s reaches the asker all the same", async (_, reason) => {
  const client = connect({ answer: () => Promise.reject(reason()) });
  await expect(client.ask({ ...NOTHING, kind })).rejects.toMatchObject({ code: "internal", cause: expect.any(Error) });
});

test.each([
  ["stays", false, 20_000],
  ["is gone", true, 0],
])("a large tensor %s with the answerer where `transfer` is %s", async (_, transfer, left) => {
  const tensor = float32([20_000], 20_000);
  const client = connect({ transfer, answer: async () => ({ ...NOTHING, tensors: createTensors([["x", tensor]]) }) });
  expect((await client.ask({ ...NOTHING, kind })).tensors.x?.data).toHaveLength(20_000);
  expect(tensor.data).toHaveLength(left);
});

test("answers that are held are posted when onAnswered flushes", async () => {
  let answered = 0;
  const client = connect({
    flushing: "held",
    answer: async ({ meta }) => ({ ...NOTHING, meta }),
    onAnswered: (channel) => {
      if (++answered === 2) channel.flush();
    },
  });
  const answers = await Promise.all(["a", "b"].map((meta) => client.ask({ ...NOTHING, kind, meta })));
  expect(answers.map(({ meta }) => meta)).toEqual(["a", "b"]);
});

test("what was asked on a line that dies is aborted", async () => {
  const started = createDeferred<void>();
  const aborted = createDeferred<void>();
  const client = connect({
    answer: (_, signal) => {
      signal.addEventListener("abort", () => aborted.resolve());
      started.resolve();
      return new Promise(() => {});
    },
  });
  client.ask({ ...NOTHING, kind }).catch(() => {});
  await started.promise;
  client.close();
  await aborted.promise;
});
