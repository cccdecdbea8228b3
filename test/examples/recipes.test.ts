import { type ClientDuplexStream, credentials, Metadata } from "@grpc/grpc-js";
import { expect, onTestFinished, test } from "vitest";
import apiKey from "../../examples/hooks/api-key.ts";
import labels from "../../examples/hooks/labels.ts";
import letters from "../../examples/hooks/letters.ts";
import loop from "../../examples/hooks/stateful-loop.ts";
import { testHooks } from "../../src/tools/testing/testing.ts";
import type { Plain } from "../grpc/oracle.ts";
import { startServer } from "../helpers/start-server.ts";
import { KserveClient } from "../protocols/kserve/kserve-oracle.ts";
import { readExample } from "./example-command.ts";

test("labels.ts names the best classes, and refuses another number of them than the file has", async () => {
  const pipeline = testHooks(labels, { options: { labels: "examples/hooks/labels/moods.txt", top: "2" } });
  const { outputs } = await pipeline.run({ scores: [[0.5, 2.5, 1.5]] });
  expect([outputs.label?.shape, [...(outputs.label?.data ?? [])].map(toText)]).toEqual([
    [1, 2],
    ["happy", "calm"],
  ]);
  await expect(pipeline.run({ scores: [[0.5, 2.5]] })).rejects.toThrow("The model has 2 classes, the file 3 labels.");
  await expect(testHooks(labels).run({ scores: [1.5] })).rejects.toThrow("-o labels=FILE");
});

test("stateful-loop.ts goes on where the session's last request has ended, and other sessions begin again", async () => {
  await using pipeline = testHooks(loop, { models: ["test/fixtures/models/add-two-inputs.onnx"] });
  const total = async (steps: number[], session?: string) => {
    const { outputs } = await pipeline.run({ steps }, session ? { metadata: { "x-session": session } } : {});
    return [...outputs.states.data];
  };
  expect(await total([1, 2, 3], "ann")).toEqual([1, 3, 6]);
  expect(await total([4], "ann")).toEqual([10]);
  expect([await total([4], "bob"), await total([4]), await total([])]).toEqual([[4], [4], []]);
});

test("api-key.ts lets requests with a known key to the model, and tells it whose key it is", async () => {
  await using pipeline = testHooks(apiKey, { options: { keys: "examples/hooks/api-key/keys.txt" } });
  const { outputs } = await pipeline.run({ x: [1] }, { metadata: { "x-api-key": "nor-is-this" } });
  expect([...(outputs.owner?.data ?? [])].map(toText)).toEqual(["bob"]);
  for (const metadata of [{}, { "x-api-key": "wrong" }, { "x-api-key": "" }])
    await expect(pipeline.run({ x: [1] }, { metadata })).rejects.toMatchObject({ code: "unauthenticated" });
});

test("streaming-audio.ts answers a stream of chunks as it answers the whole sound", async () => {
  const { grpcAddress } = await startServer((await readExample("streaming-audio")).options);
  const sound = Float32Array.from({ length: 301 }, (_, index) => Math.sin(index));
  const whole = await loudnessOf(grpcAddress, "whole", [sound]);
  const chunks = Array.from({ length: 100 }, (_, index) => sound.subarray(index * 3, index * 3 + 3));
  expect(whole.length).toBe(149);
  expect(await loudnessOf(grpcAddress, "chunks", [...chunks, sound.subarray(300)])).toEqual(whole);
});

/** The loudness of all windows, in the order of the requests, which are all sent before any is answered. */
async function loudnessOf(address: string, session: string, chunks: readonly Float32Array[]): Promise<number[]> {
  const client = new KserveClient(address, credentials.createInsecure());
  onTestFinished(() => client.close());
  const metadata = new Metadata();
  metadata.set("x-session", session);
  const open = client.ModelStreamInfer as (metadata: Metadata) => ClientDuplexStream<Plain, Plain>;
  const stream = open.call(client, metadata);
  for (const [index, chunk] of chunks.entries()) {
    const input = { name: "samples", datatype: "FP32", shape: [chunk.length] };
    const raw = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    stream.write({ model_name: "default", id: `${index}`, inputs: [input], raw_input_contents: [raw] });
  }
  stream.end();
  const answers = new Map<number, number[]>();
  for await (const { infer_response: answer } of stream) answers.set(Number(answer.id), toFloats(answer));
  return chunks.flatMap((_, index) => answers.get(index) ?? []);
}

function toFloats({ raw_output_contents: contents }: Plain): number[] {
  const [raw] = contents as [Buffer];
  return Array.from({ length: raw.length / 4 }, (_, index) => raw.readFloatLE(index * 4));
}

function toText(bytes: unknown): string {
  return Buffer.from(bytes as Uint8Array).toString();
}

test("letters.ts gives a text letter by letter, and as one where one answer is taken", async () => {
  await using pipeline = testHooks(letters);
  const seen: [string, number | undefined][] = [];
  for await (const { outputs, ctx } of pipeline.stream({ text: "hëy" }))
    seen.push([toText(outputs.letter.data[0]), ctx.part]);
  expect(seen).toEqual([
    ["h", 1],
    ["ë", 2],
    ["y", 3],
  ]);
  expect(toText((await pipeline.run({ text: "hëy" })).outputs.letter.data[0])).toBe("hëy");
  for await (const { outputs } of pipeline.stream({ text: "hëy" })) {
    expect(toText(outputs.letter.data[0])).toBe("h");
    break;
  }
});
