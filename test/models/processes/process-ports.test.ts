import { describe, expect, test } from "vitest";
import { ServingError } from "../../../src/errors.ts";
import { LinkPort } from "../../../src/models/processes/link-port.ts";
import type { ProcessLink } from "../../../src/models/processes/process-link.ts";
import { GuardedPort } from "../../../src/models/processes/process-ports.ts";
import { PREDICT, PREDICT_PARTS, STATISTICS } from "../../../src/models/threads/model-protocol.ts";
import type { Frame, WireRecord } from "../../../src/platform/threads/frame.ts";
import { FrameWriter } from "../../../src/platform/threads/frame-writer.ts";
import { MalformedMessage } from "../../../src/platform/threads/host-port.ts";
import {
  CREDIT,
  FAILURE,
  PART,
  type PartReceiver,
  RESPONSE,
  RpcClient,
} from "../../../src/platform/threads/rpc-client.ts";
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
    ["a part where one answer is wanted", PREDICT, { kind: PART }],
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

describe("an answer in parts", () => {
  const openParts = async (parts: PartReceiver) => {
    const { port, sent } = open();
    const client = new RpcClient(port, "the model's process");
    const ended = client.ask({ kind: PREDICT_PARTS, meta: undefined, tensors: undefined }, undefined, false, parts);
    ended.catch(() => {});
    await new Promise((resolve) => setImmediate(resolve));
    return { port, sent, client, ended };
  };
  const part = frameOf({ kind: PART });

  test("passes, with the credit for it, and ends", async () => {
    const came: number[] = [];
    const { port, sent, client, ended } = await openParts({ take: (_, id) => void came.push(id) });
    for (let count = 0; count < 16; count++) port.deliver(part);
    client.credit(1, 8, 0);
    await new Promise((resolve) => setImmediate(resolve));
    for (let count = 0; count < 8; count++) port.deliver(part);
    port.deliver(frameOf({}));
    await ended;
    expect([came.length, sent.length]).toEqual([24, 2]);
    // What was taken last is told after the end.
    client.credit(1, 8, 0);
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent.length).toBe(3);
  });

  test("is malformed if more parts come than there is room for", async () => {
    const { port } = await openParts({ take: () => {} });
    for (let count = 0; count < 16; count++) port.deliver(part);
    expect(() => port.deliver(part)).toThrow("it sends more parts than it has room for");
  });

  test("gets no credit for parts that did not come", async () => {
    const { port } = await openParts({ take: () => {} });
    port.deliver(part);
    const credit = (meta: unknown) => port.post(frameOf({ kind: CREDIT, meta }));
    for (const meta of [[2, 0], "all", undefined]) expect(() => credit(meta)).toThrow(MalformedMessage);
    expect(() => credit([1, 0])).not.toThrow();
  });
});
