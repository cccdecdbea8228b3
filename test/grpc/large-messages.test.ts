import { connect as connectHttp2 } from "node:http2";
import { describe, expect, it } from "vitest";
import type { Hooks } from "../../src/hooks/hooks.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { borrowMemory } from "../../src/platform/limits/memory/memory-pool.ts";
import type { MemoryShare } from "../../src/platform/limits/memory/memory-share.ts";
import { sliceSettings } from "../../src/platform/limits/settings/server-settings.ts";
import { decodePredictResponse, encodePredictRequest } from "../../src/protocols/tensorflow-serving/grpc-codec.ts";
import { PREDICT_PATH } from "../../src/protocols/tensorflow-serving/grpc-service.ts";
import { NO_MODEL_SPEC } from "../../src/protocols/tensorflow-serving/model-spec.ts";
import { LocalService } from "../../src/serving/local-service.ts";
import { createTensor, createTensors, type Tensor, type Tensors, toBytes } from "../../src/tensor/tensor.ts";
import { managePipeline } from "../serving/manage.ts";
import { connect } from "./byte-client.ts";
import { Random } from "./random.ts";
import { echo, ScriptedService, serve } from "./scripted-service.ts";

const FLOATS = 50_000;

/** A server that answers with what came, in memory that was borrowed for it. */
async function startLending(): Promise<string> {
  const service = new ScriptedService((request) => {
    const { inputs } = request as { inputs: { tensors: Tensors } };
    const { data, shape } = inputs.tensors.x as Tensor<"float32">;
    const copy = new Float32Array(borrowMemory(data.byteLength));
    copy.set(data);
    (request.memory as MemoryShare).isWireOnly = true;
    const outputs = { x: createTensor("float32", shape, copy) };
    return { ...echo(request), outputs: { kind: "tensors", tensors: createTensors(Object.entries(outputs)) } };
  });
  return (await serve(service)).address;
}

const WAYS = { "in memory that the request came in": start, "in memory that was borrowed": startLending };

async function start(hooks?: Hooks): Promise<string> {
  const manager = await managePipeline({ ...(hooks && { hooks }) });
  const log = createSilentLogger();
  const { address } = await serve(
    new LocalService(manager, { limits: sliceSettings({ maxQueueBytes: 1e9 }).limits, log }),
  );
  return address;
}

function numbered(number: number, length = FLOATS): Tensor<"float32"> {
  return createTensor(
    "float32",
    [length],
    Float32Array.from({ length }, (_, index) => number * 1e4 + (index % 997)),
  );
}

function encode(tensor: Tensor): Buffer {
  const request = { spec: NO_MODEL_SPEC, inputs: createTensors([["x", tensor]]), outputFilter: [] };
  return Buffer.from(encodePredictRequest(request, "content"));
}

function dataOf(answer: Uint8Array): Float32Array {
  return Object.values(decodePredictResponse(answer, 2 ** 30).outputs)[0]?.data as Float32Array;
}

/** Takes a hundredth of the time of toEqual. */
function isSame(data: Float32Array, expected: Float32Array): boolean {
  return Buffer.compare(toBytes(data), toBytes(expected)) === 0;
}

describe.each(Object.entries(WAYS))("large answers %s", (_, startServer) => {
  it("of many calls at once keep apart, whatever memory they are in", async () => {
    const client = connect(await startServer());
    const random = new Random(7);
    const ask = async (number: number) => {
      // Near in size, so that each fits where another lay.
      const tensor = numbered(number, FLOATS + random.below(100));
      const { bytes } = await client.call(PREDICT_PATH, encode(tensor));
      expect(isSame(dataOf(bytes), tensor.data)).toBe(true);
    };
    const lanes = Array.from({ length: 8 }, async (_, lane) => {
      for (let round = 0; round < 15; round++) await ask(15 * lane + round);
    });
    await Promise.all(lanes);
  });

  it("stay what they are for a client that reads late, while others come", async () => {
    const address = await startServer();
    const session = connectHttp2(`http://${address}`, { settings: { initialWindowSize: 1000 } });
    const late = session.request({ ":method": "POST", ":path": PREDICT_PATH, "content-type": "application/grpc" });
    const message = encode(numbered(1));
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    late.end(Buffer.concat([prefix, message]));
    await new Promise((resolve) => late.once("response", resolve));
    const client = connect(address);
    for (let round = 2; round < 20; round++) await client.call(PREDICT_PATH, encode(numbered(round)));
    const chunks: Buffer[] = [];
    for await (const chunk of late) chunks.push(chunk as Buffer);
    session.destroy();
    expect(isSame(dataOf(Buffer.concat(chunks).subarray(5)), numbered(1).data)).toBe(true);
  });
});

describe("large messages", () => {
  it("that a hook of this thread keeps are never written over", async () => {
    const kept: Tensor<"float32">[] = [];
    const keep: Hooks["preprocess"] = (values) => {
      kept.push(values.x as Tensor<"float32">);
      return values;
    };
    const client = connect(await start({ preprocess: keep }));
    for (let round = 0; round < 10; round++) await client.call(PREDICT_PATH, encode(numbered(round)));
    for (const [round, tensor] of kept.entries()) expect(isSame(tensor.data, numbered(round).data)).toBe(true);
  });

  it("are sent as a hook of this thread returned them, whatever it does with them later", async () => {
    const change: Hooks["postprocess"] = (values) => {
      setImmediate(() => (values.x as Tensor<"float32">).data.fill(-1));
      return values;
    };
    const client = connect(await start({ postprocess: change }));
    const answers = await Promise.all(
      [1, 2, 3, 4].map((number) => client.call(PREDICT_PATH, encode(numbered(number)))),
    );
    for (const [index, { bytes }] of answers.entries())
      expect(isSame(dataOf(bytes), numbered(index + 1).data)).toBe(true);
  });
});
