import { join } from "node:path";
import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { defineHooks } from "../../../src/hooks/hooks.ts";
import type { ServerOptions } from "../../../src/server/server-options.ts";
import type { Tensor } from "../../../src/tensor/tensor.ts";
import type { Plain } from "../../grpc/oracle.ts";
import { connectKserve } from "../../helpers/kserve-grpc.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** A model that returns its image input, so that its clients see what became of an image. */
const DRIVER = `
import { defineDriver } from "kserving";
const spec = { dtype: "float32", shape: [-1, 1, 2, 3] } as const;
export default defineDriver({
  name: "image-echo", options: {}, pathless: true,
  load: async () => ({
    signatures: { serving_default: { inputs: [{ name: "x", ...spec }], outputs: [{ name: "y", ...spec }] } },
    predict: async ({ x }) => ({ y: x }),
    close: async () => {},
  }),
});`;
const BGR = [3, 2, 1, 6, 5, 4];

async function start() {
  const server = await startServer({ stages: [{ driver: writeDriver(DRIVER) }] });
  const image = await makeImage();
  return { ...server, image, prefixed: withLength(image) };
}

function writeDriver(source: string): string {
  return join(tempFolder({ "image-echo.ts": source }), "image-echo.ts");
}

function makeImage(): Promise<Buffer> {
  const raw = { width: 2, height: 1, channels: 3 } as const;
  return sharp(Uint8Array.of(1, 2, 3, 4, 5, 6), { raw })
    .png()
    .toBuffer();
}

function withLength(image: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(image.length);
  return Buffer.concat([length, image]);
}

async function send(url: string, body: Buffer | string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { method: "POST", body, headers });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, bytes, length: Number(response.headers.get("inference-header-content-length")) };
}

/** A pipeline of the model with options or hooks. */
async function startWith(options: Partial<ServerOptions>) {
  const { httpUrl } = await startServer({ stages: [{ driver: writeDriver(DRIVER) }], ...options });
  const ask = async (images: readonly Buffer[]) => {
    const data = images.map((image) => ({ b64: image.toString("base64") }));
    const inputs = [{ name: "x", datatype: "BYTES", shape: [images.length], data }];
    const { status, bytes } = await send(`${httpUrl}/v2/models/default/infer`, JSON.stringify({ inputs }));
    return { status, answer: JSON.parse(bytes.toString()) };
  };
  return { ask, httpUrl, image: await makeImage() };
}

describe("an image reaches the model", () => {
  it("in batches of several requests", async () => {
    const { ask, httpUrl, image } = await startWith({ options: { max_batch_size: "8", batch_timeout_us: "20000" } });
    const answers = await Promise.all(Array.from({ length: 6 }, () => ask([image, image])));
    for (const { answer } of answers)
      expect(answer.outputs).toMatchObject([{ shape: [2, 1, 2, 3], data: [...BGR, ...BGR] }]);
    const stats = JSON.parse(await (await fetch(`${httpUrl}/v2/models/default/stats`)).text());
    const [{ inference_count: rows, execution_count: runs, inference_stats: times }] = stats.model_stats;
    expect([rows, times.success.count]).toEqual([12, 6]);
    expect(runs).toBeLessThan(6);
    // Each request waited, and its whole run counts for it.
    const parts = times.queue.ns + times.compute_input.ns + times.compute_infer.ns + times.compute_output.ns;
    expect(parts).toBeCloseTo(times.success.ns, -6);
  });

  it("with a fixed batch that requests are split to", async () => {
    const { ask, image } = await startWith({
      options: { flexible_batch_size: "true" },
      stages: [{ driver: writeDriver(DRIVER.replace("[-1, 1, 2, 3]", "[2, 1, 2, 3]")) }],
    });
    expect((await ask([image, image, image, image])).answer.outputs).toMatchObject([{ shape: [4, 1, 2, 3] }]);
    const { status, answer } = await ask([image]);
    expect([status, answer.error]).toEqual([400, expect.stringContaining("1 rows; expected one or more times 2")]);
  });

  it("through hooks, which see it as it was sent", async () => {
    const { ask, image } = await startWith({
      hooks: defineHooks({
        preprocess: (inputs, ctx) => {
          ctx.kind = (inputs.x as Tensor).dtype;
          return inputs;
        },
        postprocess: (outputs, ctx) => ({ ...outputs, kind: String(ctx.kind) }),
      }),
    });
    const { answer } = await ask([image]);
    expect(answer.outputs).toMatchObject([
      { name: "y", data: BGR },
      { name: "kind", data: ["bytes"] },
    ]);
  });

  it("of an inline driver", async () => {
    const { ask, image } = await startWith({
      stages: [{ driver: writeDriver(DRIVER.replace("pathless: true", 'pathless: true, placement: "inline"')) }],
    });
    expect((await ask([image])).answer.outputs).toMatchObject([{ data: BGR }]);
  });
});

it.each([
  ["what its shape says", {}, "FORMAT_NHWC"],
  ["its option", { layout: "NCHW" }, "FORMAT_NCHW"],
])("the configuration tells clients how images lie, by %s", async (_, options, format) => {
  const shape = "[-1, 3, 2, 3]";
  const { httpUrl } = await startServer({
    stages: [{ driver: writeDriver(DRIVER.replace("[-1, 1, 2, 3]", shape)) }],
    options,
  });
  const config = await (await fetch(`${httpUrl}/v2/models/default/config`)).json();
  expect(config).toMatchObject({ input: [{ name: "x", format }], output: [expect.not.objectContaining({ format })] });
});

describe("an image gives the same input", () => {
  it("over KServe V2 by HTTP in every form", async () => {
    const { httpUrl, image, prefixed } = await start();
    const input = { name: "x", datatype: "BYTES", shape: [1] };
    const binary = (parameters: object, bytes: Buffer): [Buffer, Record<string, string>] => {
      const json = Buffer.from(JSON.stringify({ inputs: [{ ...input, ...parameters }] }));
      return [Buffer.concat([json, bytes]), { "inference-header-content-length": String(json.length) }];
    };
    const b64 = image.toString("base64");
    const forms: [Buffer | string, Record<string, string>?][] = [
      binary({ parameters: { binary_data_size: String(image.length) } }, image),
      binary({ parameters: { binary_data_size: prefixed.length } }, prefixed),
      binary({}, prefixed),
      binary({}, image),
      [JSON.stringify({ inputs: [{ ...input, data: [{ b64 }] }] })],
      [JSON.stringify({ inputs: [{ ...input, data: [b64] }] })],
    ];
    for (const [body, headers] of forms) {
      const { status, bytes } = await send(`${httpUrl}/v2/models/default/infer`, body, headers);
      expect([status, JSON.parse(bytes.toString()).outputs[0]]).toMatchObject([
        200,
        { shape: [1, 1, 2, 3], data: BGR },
      ]);
    }
    const whole = await send(`${httpUrl}/v2/models/default/infer`, image, { "inference-header-content-length": "0" });
    expect(whole.bytes.subarray(whole.length)).toEqual(Buffer.from(Float32Array.from(BGR).buffer));
  });

  it("over KServe V2 by gRPC, typed and raw", async () => {
    const { grpcAddress, image, prefixed } = await start();
    const call = connectKserve(grpcAddress);
    const infer = (request: Plain) => call("ModelInfer", request);
    const input = { name: "x", datatype: "BYTES", shape: [2] };
    const twice = Buffer.from(Float32Array.from([...BGR, ...BGR]).buffer);
    const typed = { model_name: "default", inputs: [{ ...input, contents: { bytes_contents: [image, image] } }] };
    expect((await infer(typed)).raw_output_contents).toEqual([twice]);
    const raw = { model_name: "default", inputs: [input], raw_input_contents: [Buffer.concat([prefixed, prefixed])] };
    expect((await infer(raw)).raw_output_contents).toEqual([twice]);
  });

  it("over TensorFlow Serving's REST API in rows and columns", async () => {
    const { httpUrl, image } = await start();
    const element = { b64: image.toString("base64") };
    for (const body of [
      { instances: [element] },
      { instances: [{ x: element }] },
      { inputs: [element] },
      { inputs: { x: [element] } },
    ]) {
      const { status, bytes } = await send(`${httpUrl}/v1/models/default:predict`, JSON.stringify(body));
      expect([status, Object.values(JSON.parse(bytes.toString())).flat(4)]).toEqual([200, BGR]);
    }
  });

  it("and what is no image is the client's fault, with the reason", async () => {
    const { httpUrl } = await start();
    const inputs = [{ name: "x", datatype: "BYTES", shape: [1], data: ["no image"] }];
    const { status, bytes } = await send(`${httpUrl}/v2/models/default/infer`, JSON.stringify({ inputs }));
    expect([status, bytes.toString()]).toEqual([400, expect.stringContaining("Image parsing failed")]);
  });
});
