import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { gunzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import { toKibernetikaAnswer } from "../../src/protocols/kibernetika/http-answer.ts";
import { writeAnswer } from "../../src/protocols/kserve/http-response.ts";
import { writePredictions } from "../../src/protocols/tensorflow-serving/http-response.ts";
import { HttpExchange } from "../../src/proxy/http-exchange.ts";
import type { InferResponse } from "../../src/serving/inference-service.ts";
import { createTensor, createTensors } from "../../src/tensor/tensor.ts";
import { ScriptedService } from "../grpc/scripted-service.ts";
import { RawClient } from "../proxy/raw-client.ts";
import { serveHttp } from "../proxy/serve-http.ts";

const BOXES = Float32Array.from({ length: 4000 * 85 }, (_, index) => Math.sin(index) * 640);

/** All outputs of a detector, made for each call since tensors may be transferred. */
function outputs() {
  return createTensors([
    ["boxes", createTensor("float32", [1, 4000, 85], BOXES.slice())],
    ["classes", createTensor("bytes", [1, 2], [Buffer.from("cat"), Buffer.from("dog")])],
    ["kept", createTensor("bool", [1, 4000], new Uint8Array(4000).fill(1, 0, 7))],
  ]);
}

function respond(): InferResponse {
  const tensors = { kind: "tensors", tensors: outputs() } as const;
  return { model: "m", version: 1n, signature: "serving_default", outputs: tensors, metadata: {} };
}

function kserveText(): string {
  const named = Object.entries(outputs()).map(([name, tensor]) => {
    return { name, datatype: DATATYPES[name]!, shape: tensor.shape, tensor };
  });
  const answer = { model: "m", version: 1n, id: "", outputs: named, metadata: {} };
  return Buffer.from(writeAnswer(answer, { isBinary: false, isStrict: false, outputs: [] }).json).toString();
}

const DATATYPES: Readonly<Record<string, string>> = { boxes: "FP32", classes: "BYTES", kept: "BOOL" };
const V2_BODY = '{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}]}';

const ROUTES: readonly [path: string, body: string, text: () => string][] = [
  ["/v1/models/m:predict", '{"instances": [1]}', () => Buffer.from(writePredictions(outputs(), "row")).toString()],
  ["/v1/models/m:predict", '{"inputs": [1]}', () => Buffer.from(writePredictions(outputs(), "column")).toString()],
  ["/invocations", '{"inputs": [1]}', () => Buffer.from(writePredictions(outputs(), "column")).toString()],
  ["/v2/models/m/infer", V2_BODY, kserveText],
  [
    "/predict",
    '{"inputs": {"x": {"dtype": 1, "data": [1]}}}',
    () => Buffer.from(toKibernetikaAnswer(respond(), { outFilter: [], outMimeType: "" }).body).toString(),
  ],
];

interface Received {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly bytes: Buffer;
}

function post(url: string, body: string, headers: Readonly<Record<string, string>> = {}): Promise<Received> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", headers: { "content-type": "application/json", ...headers } });
    sent.on("error", reject);
    sent.on("response", async (response) => {
      const pieces: Buffer[] = [];
      for await (const piece of response) pieces.push(piece);
      resolve({ headers: response.headers, bytes: Buffer.concat(pieces) });
    });
    sent.end(body);
  });
}

/** The fractions in JSON, in order, as float32. */
function fractionsIn(json: string): string {
  const numbers = (json.match(/-?\d+\.\d+(?:e-\d+)?/g) ?? []).map((digits) => Math.fround(Number(digits)));
  return numbers.filter((number) => !Number.isInteger(number)).join();
}

/** Sends a request, waits for the head of its answer, and gives a function that reads the rest. */
async function askAndWait(url: string, body: string): Promise<() => Promise<Buffer>> {
  const sent = request(url, { method: "POST", agent: false });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return async () => {
    const pieces: Buffer[] = [];
    for await (const piece of response) pieces.push(piece);
    return Buffer.concat(pieces);
  };
}

describe("a very large answer", () => {
  test.each(ROUTES)("of %s to %s is the text of one written at once, in parts", async (path, body, text) => {
    const memory = new MemoryBudget(1e9);
    const { url } = await serveHttp(new ScriptedService(respond), { memory });
    const { headers, bytes } = await post(url + path, body);
    expect(headers["transfer-encoding"]).toBe("chunked");
    expect(bytes.toString() === text()).toBe(true);
    expect(memory.heldBytes).toBe(0);
  });

  test.each([
    ["/v1/models/m:predict", '{"instances": [1]}'],
    ["/v1/models/m:predict", '{"inputs": [1]}'],
    ["/v2/models/m/infer_stream", V2_BODY],
    ["/v2/models/m/generate_stream", "{}"],
    ["/predict", '{"inputs": {"x": {"dtype": 1, "data": [1]}}}'],
  ])("of %s to %s is made while it is sent where it is a part, too", async (path, body) => {
    const inParts = vi.spyOn(HttpExchange.prototype, "encodeParts");
    onTestFinished(() => inParts.mockRestore());
    const memory = new MemoryBudget(1e9);
    const { url } = await serveHttp(new ScriptedService(respond), { memory });
    const { bytes } = await post(url + path, body, { accept: "application/x-ndjson" });
    expect(inParts).toHaveBeenCalledTimes(1);
    const [line, end, ...more] = bytes.toString().split("\n");
    expect([end, more]).toEqual(["", []]);
    expect(JSON.parse(line as string)).toBeTypeOf("object");
    expect(fractionsIn(line as string) === BOXES.filter((number) => !Number.isInteger(number)).join()).toBe(true);
    expect(memory.heldBytes).toBe(0);
  });

  test("keeps apart from others, whatever memory their parts are in, also for a client that reads late", async () => {
    const boxes = (number: number) =>
      createTensor(
        "float32",
        [4000, 85],
        BOXES.map((value) => value + number),
      );
    let asked = 0;
    const { url } = await serveHttp(
      new ScriptedService(() => {
        const tensors = createTensors([["boxes", boxes(asked++)]]);
        return { ...respond(), outputs: { kind: "tensors", tensors } };
      }),
    );
    const path = `${url}/v1/models/m:predict`;
    const late = await askAndWait(path, '{"inputs": [1]}');
    for (let number = 1; number < 4; number++) {
      const { bytes } = await post(path, '{"inputs": [1]}');
      expect(bytes.equals(writePredictions(createTensors([["boxes", boxes(number)]]), "column"))).toBe(true);
    }
    expect((await late()).equals(writePredictions(createTensors([["boxes", boxes(0)]]), "column"))).toBe(true);
  });

  test("is compressed on its way", async () => {
    const { url } = await serveHttp(new ScriptedService(respond));
    const [[path, body, text]] = ROUTES as [(typeof ROUTES)[number]];
    const { headers, bytes } = await post(url + path, body, { "accept-encoding": "gzip" });
    expect(headers["content-encoding"]).toBe("gzip");
    expect(gunzipSync(bytes).toString() === text()).toBe(true);
  });

  test("has no line breaks where SageMaker's client asks for JSON by name", async () => {
    const { url } = await serveHttp(new ScriptedService(respond));
    const { bytes } = await post(`${url}/invocations`, '{"inputs": [1]}', { accept: "application/json" });
    const text = Buffer.from(writePredictions(outputs(), "column")).toString().replaceAll("\n", "");
    expect(bytes.toString() === text).toBe(true);
  });

  test("with numbers that JSON cannot express is refused before its first byte", async () => {
    const complex = createTensor("complex64", [300_000], new Float32Array(600_000));
    const answer = { ...respond(), outputs: { kind: "tensors", tensors: createTensors([["c", complex]]) } as const };
    const { url } = await serveHttp(new ScriptedService(() => answer));
    const { bytes } = await post(`${url}/v1/models/m:predict`, '{"inputs": [1]}');
    expect(JSON.parse(bytes.toString())).toEqual({ error: "Failed to write JSON value for tensor type: complex64" });
  });

  test("is given up when its client leaves, and holds no memory any more", async () => {
    const memory = new MemoryBudget(1e9);
    const { port } = await serveHttp(new ScriptedService(respond), { memory });
    const client = new RawClient(port);
    client.write('POST /v1/models/m:predict HTTP/1.1\r\nhost: x\r\ncontent-length: 15\r\n\r\n{"inputs": [1]}');
    await client.received(/"boxes": \[/);
    client.socket.destroy();
    await expect.poll(() => memory.heldBytes).toBe(0);
  });
});
