import { connect as connectHttp2, constants } from "node:http2";
import { type ClientDuplexStream, credentials, Metadata, status } from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished } from "vitest";
import { ServingError } from "../../../src/errors.ts";
import { MemoryBudget } from "../../../src/platform/limits/memory/memory-budget.ts";
import type { InferResponse } from "../../../src/serving/inference-service.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import type { Plain } from "../../grpc/oracle.ts";
import { echo, type Script, type ScriptedRequest, ScriptedService, serve } from "../../grpc/scripted-service.ts";
import { KserveClient, kserveOracle } from "./kserve-oracle.ts";

type Stream = ClientDuplexStream<Plain, Plain>;

const MAX_IN_FLIGHT = 32;
const STREAM_HEADERS = { ":method": "POST", ":path": "/inference.GRPCInferenceService/ModelStreamInfer" };

function request(id: string, bytes = 4): Plain {
  const input = { name: "x", datatype: "UINT8", shape: [bytes] };
  return { model_name: "default", id, inputs: [input], raw_input_contents: [Buffer.alloc(bytes, 1)] };
}

async function start(script: Script = echo) {
  const service = new ScriptedService(script);
  const memory = new MemoryBudget(256 * 1024 * 1024);
  const { address } = await serve(service, { memory });
  const client = new KserveClient(address, credentials.createInsecure());
  onTestFinished(() => client.close());
  const open = (metadata = new Metadata(), options = {}): Stream =>
    (client.ModelStreamInfer as (metadata: Metadata, options: object) => Stream).call(client, metadata, options);
  /** Checks that nothing is held: then a request of any size is let in. */
  const isFree = () => memory.hasRoom(Number.MAX_SAFE_INTEGER, 0);
  return { service, address, open, isFree };
}

/** A message with the header that gRPC puts before it. */
function framed(message: Buffer): Buffer {
  const header = Buffer.alloc(5);
  header.writeUInt32BE(message.length, 1);
  return Buffer.concat([header, message]);
}

async function collect(stream: Stream): Promise<Plain[]> {
  const answers: Plain[] = [];
  for await (const answer of stream) answers.push(answer as Plain);
  return answers;
}

/** A script whose requests wait until they are cancelled. */
function waiting({ signal }: ScriptedRequest): Promise<InferResponse> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
}

describe("a stream of inference requests", () => {
  it("does not send an id of more than 64 KB back with an error", async () => {
    const { open } = await start();
    const stream = open();
    stream.write({ ...request("a".repeat(100_000)), raw_input_contents: [Buffer.alloc(3)] });
    stream.end();
    const answers = await collect(stream);
    expect(answers).toMatchObject([{ error_message: expect.stringContaining("request id: aaa") }]);
    expect(JSON.stringify(answers).length).toBeLessThan(10_000);
  });

  it("of a client that does not read its answers is not answered further", async () => {
    const { service, address, isFree } = await start();
    const session = connectHttp2(`http://${address}`);
    onTestFinished(() => session.destroy());
    const stream = session.request({ ...STREAM_HEADERS, "content-type": "application/grpc", te: "trailers" });
    stream.on("error", () => {});
    const message = framed(kserveOracle.encodeRequest(request("1", 100_000)));
    for (let count = 0; count < 200; count++) stream.write(message);
    let before = -1;
    const isStill = () => {
      const wasStill = service.requests.length === before;
      before = service.requests.length;
      return wasStill && before > 0;
    };
    await expect.poll(isStill, { interval: 200, timeout: 10_000 }).toBe(true);
    expect(service.requests.length).toBeLessThan(2 * MAX_IN_FLIGHT);
    stream.close(constants.NGHTTP2_CANCEL);
    await expect.poll(isFree).toBe(true);
  });

  it("of two thousand requests gets as many answers, few at a time", async () => {
    let [running, most] = [0, 0];
    const { open, isFree } = await start(async (one) => {
      running++;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      running--;
      return echo(one);
    });
    const stream = open();
    for (let id = 0; id < 2000; id++) stream.write(request(String(id)));
    stream.end();
    const ids = (await collect(stream)).map(({ infer_response: answer }) => Number((answer as Plain).id));
    expect(ids.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 2000 }, (_, id) => id));
    expect(most).toBeLessThanOrEqual(MAX_IN_FLIGHT);
    await expect.poll(isFree).toBe(true);
  });

  it("that its client cancels cancels its requests and gives their memory back", async () => {
    const { service, open, isFree } = await start(waiting);
    const stream = open();
    stream.on("error", () => {});
    for (let id = 0; id < 50; id++) stream.write(request(String(id), 100_000));
    await expect.poll(() => service.requests.length).toBe(MAX_IN_FLIGHT);
    expect(isFree()).toBe(false);
    stream.cancel();
    await expect.poll(() => service.requests.every(({ signal }) => signal.aborted)).toBe(true);
    await expect.poll(isFree).toBe(true);
    expect(service.requests).toHaveLength(MAX_IN_FLIGHT);
  });

  it("whose deadline passes ends, and so do its requests", async () => {
    const { service, open, isFree } = await start(waiting);
    const stream = open(new Metadata(), { deadline: Date.now() + 300 });
    stream.write(request("1"));
    await expect(collect(stream)).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
    await expect.poll(() => service.requests[0]?.signal.aborted).toBe(true);
    expect(service.requests[0]?.deadline).toBeGreaterThan(0);
    await expect.poll(isFree).toBe(true);
  });

  it("that ended with a status says nothing further, and cancels what still runs", async () => {
    const { service, open, isFree } = await start((one) => {
      if (one.id === "bad") throw new ServingError("unavailable", "no");
      return waiting(one);
    });
    const metadata = new Metadata();
    metadata.set("triton_grpc_error", "true");
    const stream = open(metadata);
    for (const id of ["1", "2", "bad", "3", "bad"]) stream.write(request(id));
    await expect(collect(stream)).rejects.toMatchObject({ code: status.UNAVAILABLE, details: "no" });
    await expect.poll(() => service.requests.every(({ id, signal }) => id === "bad" || signal.aborted)).toBe(true);
    await expect.poll(isFree).toBe(true);
  });

  it("is answered in the order of its requests, as Triton does, whichever is ready first", async () => {
    const ready: (() => void)[] = [];
    const { open, isFree } = await start(async (one) => {
      if (one.id === "bad") throw new ServingError("unavailable", "no");
      if (one.id !== "3") await new Promise<void>((resolve) => ready.push(resolve));
      return echo(one);
    });
    const stream = open();
    for (const id of ["1", "2", "bad", "3"]) stream.write(request(id));
    stream.end();
    await expect.poll(() => ready.length).toBe(2);
    for (const go of ready.toReversed()) {
      go();
      await new Promise(setImmediate);
    }
    const ids = (await collect(stream)).map(({ infer_response: answer }) => (answer as Plain).id);
    expect(ids).toEqual(["1", "2", "bad", "3"]);
    await expect.poll(isFree).toBe(true);
  });

  it("gets no part after the error of its answer, also if that was being written when it failed", async () => {
    const late = new ServingError("deadline_exceeded", "late");
    // So many elements that a thread writes them.
    const y = createTensor("bytes", [10_000], new Array(10_000).fill(Buffer.from("a")));
    let written: Promise<unknown> | undefined;
    const { open, service } = await start((asked) => {
      if (asked.id === "0") return echo(asked);
      const part = {
        model: "default",
        version: 1n,
        signature: "",
        metadata: {},
        outputs: { kind: "tensors", tensors: { y } },
      } as const;
      written = asked.sink?.write(part).catch((reason) => reason);
      throw late;
    });
    const stream = open(new Metadata(), { "grpc.max_receive_message_length": -1 });
    // Its answer is not read, so that the error waits behind it until the part is ready.
    stream.write(request("0", 900_000));
    await expect.poll(() => service.requests.length).toBe(1);
    stream.write(request("1"));
    await expect.poll(() => written).toBeDefined();
    expect(await written).toMatchObject({ code: "cancelled", message: expect.stringContaining("no part follows") });
    stream.end();
    expect((await collect(stream)).map(({ error_message: text }) => text)).toEqual(["", "late"]);
  });

  it("goes on after a request that cannot be read", async () => {
    const { open } = await start();
    const stream = open();
    stream.write({ ...request("1"), inputs: [{ name: "x", datatype: "INT3", shape: [1] }] });
    stream.write(request("2"));
    stream.end();
    const answers = await collect(stream);
    const told = answers.map(({ error_message: error, infer_response: answer }) => [(answer as Plain).id, error]);
    expect(told.toSorted()).toEqual([
      ["1", expect.stringContaining("invalid datatype 'INT3'")],
      ["2", ""],
    ]);
  });

  it("says that an answer is the last one to its request, as Triton does whether or not its client asks", async () => {
    const { open } = await start();
    const stream = open();
    stream.write({ ...request("1"), parameters: { triton_enable_empty_final_response: { bool_param: true } } });
    stream.write(request("2"));
    stream.end();
    const answers = (await collect(stream)).map(({ infer_response: answer }) => answer as Plain);
    expect(answers).toMatchObject([
      { id: "1", parameters: { triton_final_response: { bool_param: true } } },
      { id: "2", parameters: { triton_final_response: { bool_param: true } } },
    ]);
  });

  it("hands priority and timeout to the queue", async () => {
    const { service, open } = await start();
    const stream = open();
    stream.end({ ...request("1"), parameters: { priority: { uint64_param: "2" }, timeout: { int64_param: "1500" } } });
    await collect(stream);
    expect(service.requests).toMatchObject([{ id: "1", priority: 2, queueTimeoutMs: 1.5 }]);
  });

  it("takes a timeout that is longer than any timer for the longest", async () => {
    const { service, open } = await start();
    const stream = open();
    stream.end({ ...request("1"), parameters: { timeout: { int64_param: "9000000000000" } } });
    await collect(stream);
    expect(service.requests).toMatchObject([{ queueTimeoutMs: 2 ** 31 - 1 }]);
  });
});
