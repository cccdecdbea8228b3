import { describe, expect, test } from "vitest";
import { ServingError } from "../../../src/errors.ts";
import { LinkPort } from "../../../src/models/processes/link-port.ts";
import type { ProcessLink } from "../../../src/models/processes/process-link.ts";
import { GuardedPort } from "../../../src/models/processes/process-ports.ts";
import { PREDICT, STATISTICS } from "../../../src/models/threads/model-protocol.ts";
import type { Frame, WireRecord } from "../../../src/platform/threads/frame.ts";
import { FrameWriter } from "../../../src/platform/threads/frame-writer.ts";
import { MalformedMessage } from "../../../src/platform/threads/host-port.ts";
import { FAILURE, RESPONSE, RpcClient } from "../../../src/platform/threads/rpc-client.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";

function frameOf(record: Partial<WireRecord>): Frame {
  const writer = new FrameWriter();
  writer.write({ kind: RESPONSE, id: 1, meta: undefined, tensors: undefined, ...record }, false);
  return writer.take().frame;
}

/** A port whose messages to the process are counted. */
function open() {
  const sent: Frame[] = [];
  const link = { post: (_: number, message: Frame) => void sent.push(message) } as unknown as ProcessLink;
  return { sent, port: new GuardedPort(new LinkPort(5, link)) };
}

const askOn = (port: GuardedPort, kind: number) =>
  new RpcClient(port, "the model's process").ask({
    ...{ kind, meta: undefined, tensors: undefined },
  });

test("an open question gets the reason when the process has ended", async () => {
  const { port, sent } = open();
  const asked = askOn(port, PREDICT);
  await new Promise((resolve) => setImmediate(resolve));
  expect(sent.length).toBe(1);
  port.fail(new ServingError("unavailable", "it crashed"));
  await expect(asked).rejects.toMatchObject({ code: "unavailable", message: "it crashed" });
});

describe("an answer that a model does not give is malformed:", () => {
  test.each<[string, number, Partial<WireRecord>]>([
    ["to a question that was not asked", PREDICT, { id: 2 }],
    ["a question", PREDICT, { kind: PREDICT }],
    ["an error without a text", PREDICT, { kind: FAILURE, meta: { code: "internal" } }],
    ["statistics that are none", STATISTICS, { meta: { requests: "many" } }],
    ["no statistics", STATISTICS, {}],
    [
      "2^31 - 1 rows of nothing",
      PREDICT,
      { tensors: { y: createTensor("float32", [2 ** 31 - 1, 0], new Float32Array()) } },
    ],
    ["fewer requests than none", STATISTICS, { meta: { requests: -1 } }],
  ])("%s", async (_, kind, answer) => {
    const { port } = open();
    void askOn(port, kind).catch(() => {});
    await new Promise((resolve) => setImmediate(resolve));
    expect(() => port.deliver(frameOf(answer))).toThrow(MalformedMessage);
  });
});

test("a second answer to the same question is malformed", async () => {
  const { port } = open();
  const asked = askOn(port, PREDICT);
  await new Promise((resolve) => setImmediate(resolve));
  port.deliver(frameOf({}));
  await asked;
  expect(() => port.deliver(frameOf({}))).toThrow("it answers request 1, which does not wait for an answer");
});
