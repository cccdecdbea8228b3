import { describe, expect, it } from "vitest";
import { encodeImage } from "../../../src/tensor/media/encode-image.ts";
import { createTensor, type Tensor } from "../../../src/tensor/tensor.ts";
import { startKserving } from "../../cli/start-kserving.ts";
import { connect } from "../../grpc/byte-client.ts";
import { oracle } from "../../grpc/oracle.ts";
import { plain } from "../../helpers/run-pipeline.ts";
import { startServer } from "../../helpers/start-server.ts";
import { expectTensors } from "../expect-tensors.ts";
import { missingRuntime } from "../missing-runtime.ts";
import { openvinoModel, readRuns } from "./openvino-cases.ts";
import { openvinoRuntime } from "./openvino-runtime.ts";

const missing = await missingRuntime("Serving with OpenVINO", openvinoRuntime);

const PREDICT = "/tensorflow.serving.PredictionService/Predict";
const start = () =>
  startServer({ stages: [{ driver: "openvino", path: openvinoModel("add_multiply") }], options: { device: "CPU" } });

const startResnet = () =>
  startServer({ name: "resnet", stages: [{ driver: "openvino", path: openvinoModel("convolutions") }] });

/** A batch of images, and what Python OpenVINO makes of them. */
const IMAGES = readImages();

function readImages(): Readonly<Record<"image" | "probabilities", Tensor<"float32">>> {
  const [run] = readRuns("convolutions");
  return { ...run?.inputs, ...run?.outputs } as never;
}

function expectNumbers(numbers: readonly number[], expected: Tensor): void {
  const answer = createTensor("float32", expected.shape, Float32Array.from(numbers));
  expectTensors({ answer }, { answer: expected }, 1e-5);
}

describe.skipIf(missing !== undefined)("the command line of the original", () => {
  it("serves an IR on the device that it names", async () => {
    const { KSERVING_OPENVINO_LIB: library } = process.env;
    const model = ["--driver", "openvino", "--model-path", openvinoModel("add_multiply"), "-o", "device=CPU"];
    const local = ["--host", "127.0.0.1", "--port", "0", "--http-enable", "--http-port", "0"];
    const program = startKserving(
      [...model, ...local],
      library === undefined ? {} : { KSERVING_OPENVINO_LIB: library },
    );
    const { http } = await program.event("ready");
    const body = JSON.stringify({ instances: [{ x: [1, 2, 3, 4], y: [2, 2, 2, 2] }] });
    const answer = await fetch(`${http}/v1/models/default:predict`, { method: "POST", body });
    expect(await answer.json()).toEqual({ predictions: [{ sum: [3, 4, 5, 6], product: [2, 4, 6, 8] }] });
    program.kill("SIGTERM");
    expect(await program.ended()).toMatchObject({ code: 0 });
  });
});

describe.skipIf(missing !== undefined)(
  "clients of OpenVINO Model Server, which speak TensorFlow Serving's protocols, get answers",
  () => {
    it.each([
      [
        "rows",
        { instances: [{ x: [1, 2, 3, 4], y: [2, 2, 2, 2] }] },
        { predictions: [{ sum: [3, 4, 5, 6], product: [2, 4, 6, 8] }] },
      ],
      [
        "columns",
        { inputs: { x: [[1, 2, 3, 4]], y: [[2, 2, 2, 2]] } },
        { outputs: { sum: [[3, 4, 5, 6]], product: [[2, 4, 6, 8]] } },
      ],
    ])("over REST in %s", async (_form, question, answer) => {
      const { httpUrl } = await start();
      const response = await fetch(`${httpUrl}/v1/models/default:predict`, {
        method: "POST",
        body: JSON.stringify(question),
      });
      expect([response.status, await response.json()]).toEqual([200, answer]);
    });

    it("over gRPC, with values and with raw bytes", async () => {
      const { grpcAddress } = await start();
      const client = connect(grpcAddress as string);
      const tensor_shape = { dim: [{ size: 1 }, { size: 4 }] };
      const x = { dtype: "DT_FLOAT", tensor_shape, float_val: [1, 2, 3, 4] };
      const y = { dtype: "DT_FLOAT", tensor_shape, tensor_content: Buffer.from(Float32Array.of(2, 2, 2, 2).buffer) };
      const request = oracle.encodeRequest({
        model_spec: { name: "default" },
        inputs: { x, y },
        output_filter: ["sum"],
      });
      expect(oracle.decodeResponse((await client.call(PREDICT, request)).bytes)).toMatchObject({
        outputs: { sum: { dtype: "DT_FLOAT", float_val: [3, 4, 5, 6] } },
      });
    });

    it.each<[string, (images: unknown[]) => object]>([
      ["rows", (images) => ({ signature_name: "serving_default", instances: images })],
      ["rows with names", (images) => ({ instances: images.map((image) => ({ image })) })],
      ["a column", (images) => ({ signature_name: "serving_default", inputs: images })],
      ["columns with names", (images) => ({ inputs: { image: images } })],
    ])("for batches of images over REST in %s", async (_form, toBody) => {
      const { image, probabilities } = IMAGES;
      const { httpUrl } = await startResnet();
      const { images } = plain({ images: image }) as { images: unknown[] };
      const body = JSON.stringify(toBody(images));
      const response = await fetch(`${httpUrl}/v1/models/resnet/versions/1:predict`, { method: "POST", body });
      const { predictions, outputs } = (await response.json()) as { predictions?: number[][]; outputs?: number[][] };
      expectNumbers((predictions ?? outputs ?? []).flat(), probabilities);
    });

    it("for batches of images over gRPC", async () => {
      const { image, probabilities } = IMAGES;
      const { grpcAddress } = await startResnet();
      const tensor_shape = { dim: image.shape.map((size) => ({ size })) };
      const tensor_content = Buffer.from(image.data.buffer, image.data.byteOffset, image.data.byteLength);
      const request = oracle.encodeRequest({
        model_spec: { name: "resnet" },
        inputs: { image: { dtype: "DT_FLOAT", tensor_shape, tensor_content } },
      });
      const { bytes } = await connect(grpcAddress as string).call(PREDICT, request);
      const { outputs } = oracle.decodeResponse(bytes) as { outputs: Record<string, { float_val: number[] }> };
      expectNumbers(outputs.probabilities?.float_val ?? [], probabilities);
    });

    it("that say what was wrong with their arrays", async () => {
      const { httpUrl } = await start();
      const body = JSON.stringify({ inputs: { x: [[1, 2, 3, 4]], y: [[1, 2, 3]] } });
      const response = await fetch(`${httpUrl}/v1/models/default:predict`, { method: "POST", body });
      expect([response.status, await response.text()]).toEqual([400, expect.stringMatching(/y.*\[1,3\]/)]);
    });
  },
);

describe.skipIf(missing !== undefined)(
  "a model of NCHW that is served as NHWC, as OpenVINO's documents start it",
  () => {
    const serve = (options: Record<string, string>) =>
      startServer({ name: "fixed", stages: [{ driver: "openvino", path: openvinoModel("fixed") }], options });

    async function ask(httpUrl: string, input: object): Promise<{ data: number[]; shape: number[] }> {
      const body = JSON.stringify({ inputs: [{ name: "x", ...input }] });
      const response = await fetch(`${httpUrl}/v2/models/fixed/infer`, { method: "POST", body });
      const { outputs, error } = JSON.parse(await response.text());
      return outputs?.[0] ?? error;
    }

    it("says so in its metadata, and takes raw NHWC numbers and images", async () => {
      const [plain, { httpUrl }] = [await serve({}), await serve({ layout: "NHWC:NCHW" })];
      const described = JSON.parse(await (await fetch(`${httpUrl}/v2/models/fixed`)).text());
      expect(described.inputs).toEqual([{ name: "x", datatype: "FP32", shape: [1, 4, 4, 3] }]);
      const config = JSON.parse(await (await fetch(`${httpUrl}/v2/models/fixed/config`)).text());
      expect(config.input[0].format).toBe("FORMAT_NHWC");
      const colours = [10, 20, 30];
      const pixels = Array.from({ length: 48 }, (_, index) => colours[index % 3] as number);
      const planes = colours.flatMap((colour) => new Array<number>(16).fill(colour));
      const expected = await ask(plain.httpUrl, { datatype: "FP32", shape: [1, 3, 4, 4], data: planes });
      expect(expected.shape).toEqual([1, 2, 4, 4]);
      for (const datatype of ["FP32", "UINT8"]) {
        expect(await ask(httpUrl, { datatype, shape: [1, 4, 4, 3], data: pixels })).toEqual(expected);
      }
      const image = await solidPng(4, colours.toReversed() as [number, number, number]);
      const sent = { datatype: "BYTES", shape: [1], data: [{ b64: image.toString("base64") }] };
      expect(await ask(httpUrl, sent)).toEqual(expected);
    });

    it("takes images for NCHW where that is all that the option says", async () => {
      const { httpUrl } = await serve({ layout: "nchw" });
      const config = JSON.parse(await (await fetch(`${httpUrl}/v2/models/fixed/config`)).text());
      expect(config.input[0]).toMatchObject({ format: "FORMAT_NCHW", dims: [1, 3, 4, 4] });
    });
  },
);

/** A PNG of one colour, red, green and blue. */
function solidPng(size: number, [r, g, b]: readonly [number, number, number]): Promise<Buffer> {
  const pixels = Uint8Array.from({ length: size * size * 3 }, (_, index) => [r, g, b][index % 3] as number);
  return encodeImage(createTensor("uint8", [size, size, 3], pixels), { format: "png" });
}
