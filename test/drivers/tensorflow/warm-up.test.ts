import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { describe, expect, it } from "vitest";
import { readWarmUpRequests } from "../../../src/drivers/tensorflow/warm-up-requests.ts";
import { createSilentLogger, type Logger } from "../../../src/observability/logger.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { missingRuntime } from "../missing-runtime.ts";
import { floats, openNative, predict } from "./native/open-native.ts";
import { tensorflowRuntime } from "./native/tensorflow-runtime.ts";
import { tensorflowModel } from "./tensorflow-cases.ts";

const missing = await missingRuntime("Warm-up requests on TensorFlow", tensorflowRuntime);

/** A message whose fields are bytes, by number. */
function message(fields: Readonly<Record<number, Uint8Array | string>>): Uint8Array {
  const writer = new BinaryWriter();
  for (const [number, content] of Object.entries(fields))
    writer.tag(Number(number), WireType.LengthDelimited).bytes(Buffer.from(content));
  return writer.finish();
}

/** A PredictionLog with one float input. */
function predictionLog(signature: string, value: number): Uint8Array {
  const tensor = new BinaryWriter().tag(1, WireType.Varint).int32(1).finish();
  const shape = message({ 2: message({ 2: new BinaryWriter().tag(1, WireType.Varint).int64(1).finish() }) });
  const values = message({ 5: new Uint8Array(Float32Array.of(value).buffer) });
  const entry = message({ 1: "x", 2: Buffer.concat([tensor, shape, values]) });
  return message({ 6: message({ 1: message({ 1: message({ 1: "model", 3: signature }), 2: entry }) }) });
}

/** The records as a TFRecord file has them; nobody reads the checksums. */
function recordFile(...records: readonly Uint8Array[]): Buffer {
  const checksum = Buffer.alloc(4);
  const lengthOf = ({ length }: Uint8Array) => Buffer.from(BigUint64Array.of(BigInt(length)).buffer);
  return Buffer.concat(records.flatMap((record) => [lengthOf(record), checksum, record, checksum]));
}

/** A copy of a model with warm-up requests. */
function warmModel(name: string, requests: Uint8Array): string {
  const folder = tempFolder();
  cpSync(tensorflowModel(name), folder, { recursive: true });
  mkdirSync(`${folder}/assets.extra`);
  writeFileSync(`${folder}/assets.extra/tf_serving_warmup_requests`, requests);
  return folder;
}

describe("warm-up requests", () => {
  it("are read from where TensorFlow Serving has them, those of other kinds left alone", () => {
    const classify = message({ 2: message({ 1: "" }) });
    const folder = warmModel("counter", recordFile(predictionLog("", 1), classify, predictionLog("other", 2)));
    expect(readWarmUpRequests(folder)).toEqual([
      { signature: "serving_default", inputs: { x: floats([1], 1) } },
      { signature: "other", inputs: { x: floats([1], 2) } },
    ]);
  });

  it("need not be there", () => {
    expect(readWarmUpRequests(tensorflowModel("counter"))).toEqual([]);
  });

  it("are refused when their file is cut short", () => {
    const whole = recordFile(predictionLog("", 1));
    const folder = warmModel("counter", whole.subarray(0, whole.length - 6));
    expect(() => readWarmUpRequests(folder)).toThrow("tf_serving_warmup_requests is cut short");
  });
});

describe.skipIf(missing !== undefined)("a model with warm-up requests", () => {
  it("has run them when it is loaded", async () => {
    const model = await openNative(warmModel("counter", recordFile(predictionLog("", 1), predictionLog("", 1))));
    expect((await predict(model, { x: floats([1], 1) })).total).toEqual(floats([], 6));
    await model.close();
  });

  it("is loaded although one fails, and the log says so", async () => {
    const warnings: unknown[] = [];
    const log: Logger = { ...createSilentLogger(), warn: (text) => warnings.push(text) };
    const model = await openNative(warmModel("assertion", recordFile(predictionLog("", -1))), {}, log);
    expect(warnings).toContain("a warm-up request failed");
    expect((await predict(model, { x: floats([1], 4) })).y).toEqual(floats([1], 2));
    await model.close();
  });
});
