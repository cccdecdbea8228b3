import { describe, expect, test } from "vitest";
import { ServingError } from "../../../src/errors.ts";
import { GuardedLine } from "../../../src/model-host/processes/guarded-line.ts";
import { LinePort } from "../../../src/model-host/processes/line-port.ts";
import type { ProcessLink } from "../../../src/model-host/processes/process-link.ts";
import { PREDICT, STATISTICS } from "../../../src/model-host/threads/model-protocol.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import type { Frame } from "../../../src/threads/frame.ts";
import { FrameWriter } from "../../../src/threads/frame-writer.ts";
import { MalformedMessage } from "../../../src/threads/malformed-message.ts";
import { FAILURE, RESPONSE, RpcClient } from "../../../src/threads/rpc-client.ts";
import type { WireRecord } from "../../../src/threads/wire-record.ts";

function frameOf(record: Partial<WireRecord>): Frame {
  const writer = new FrameWriter();
  writer.write({ kind: RESPONSE, id: 1, meta: undefined, tensors: undefined, ...record }, false);
  return writer.take().frame;
}

/** A line whose messages to the process are counted. */
function open() {
  const sent: Frame[] = [];
  const link = { post: (_: number, message: Frame) => void sent.push(message) } as unknown as ProcessLink;
  return { sent, line: new GuardedLine(new LinePort(5, link)) };
}

const askOn = (line: GuardedLine, kind: number) =>
  new RpcClient(line, "the model's process").ask({
    ...{ kind, meta: undefined, tensors: undefined, signal: undefined, transfer: false },
  });

test("an open question gets the reason when the process has ended", async () => {
  const { line, sent } = open();
  const asked = askOn(line, PREDICT);
  await new Promise((resolve) => setImmediate(resolve));
  expect(sent.length).toBe(1);
  line.fail(new ServingError("unavailable", "it crashed"));
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
    const { line } = open();
    void askOn(line, kind).catch(() => {});
    await new Promise((resolve) => setImmediate(resolve));
    expect(() => line.deliver(frameOf(answer))).toThrow(MalformedMessage);
  });
});

test("a second answer to the same question is malformed", async () => {
  const { line } = open();
  const asked = askOn(line, PREDICT);
  await new Promise((resolve) => setImmediate(resolve));
  line.deliver(frameOf({}));
  await asked;
  expect(() => line.deliver(frameOf({}))).toThrow("it answers request 1, which does not wait for an answer");
});
