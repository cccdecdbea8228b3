import { type IncomingMessage, request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { describe, expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/client/node.ts";
import { encodeInferRequest, methodPath } from "../../src/client/remote/infer-message.ts";
import { frameBytes } from "../../src/grpc/framed-message.ts";
import { encodePredictRequest } from "../../src/protocols/tensorflow-serving/grpc-codec.ts";
import { NO_MODEL_SPEC } from "../../src/protocols/tensorflow-serving/model-spec.ts";
import { createTensor, createTensors } from "../../src/tensor/tensor.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const GB = 2 ** 30;
/** More than the longest text of V8 has. */
const LONG = 600 * 2 ** 20;

/** One part of as many bytes: numbers, or the only element of a tensor of texts. */
const HOOKS = `
import { createTensor } from "kserving";
export const inputs = [{ name: "bytes", dtype: "float64", shape: [1] }, { name: "text", dtype: "bool", shape: [1] }];
export async function* process({ bytes, text }) {
  const size = bytes.data[0];
  if (text.data[0] === 0) yield { y: createTensor("float32", [size / 4], new Float32Array(size / 4)) };
  else yield { y: createTensor("bytes", [1], [new Uint8Array(size).fill(97)]) };
}`;

const given = (bytes: number, isText: boolean) =>
  createTensors([
    ["bytes", createTensor("float64", [1], Float64Array.of(bytes))],
    ["text", createTensor("bool", [1], Uint8Array.of(isText ? 1 : 0))],
  ]);

async function start() {
  const hooks = `${tempFolder({ "hooks.ts": HOOKS })}/hooks.ts`;
  return startServer({ stages: [{ driver: "null" }], hooks, hookMemoryMb: 8192, hookStallMs: 0, hookTimeoutMs: 0 });
}

/** Reads an answer of gRPC without keeping it: its bytes, its status, and what a short one says. */
function callGrpc(address: string, path: string, message: Uint8Array) {
  const session = connectHttp2(`http://${address}`, { settings: { initialWindowSize: 2 ** 24 } });
  session.once("connect", () => session.setLocalWindowSize(2 ** 24));
  const sent = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc" });
  sent.end(Buffer.concat(frameBytes(message)));
  return new Promise<readonly [bytes: number, end: string, text: string]>((resolve) => {
    let bytes = 0;
    let [end, text] = ["", ""];
    const told = (headers: Readonly<Record<string, unknown>>) => {
      if (headers["grpc-status"] !== undefined)
        end = `${headers["grpc-status"]} ${decodeURI(String(headers["grpc-message"] ?? ""))}`;
    };
    sent.on("data", (piece: Buffer) => {
      bytes += piece.length;
      if (bytes < 4096) text += piece.toString("latin1");
    });
    sent.on("response", told).on("trailers", told);
    sent.on("close", () => {
      session.close();
      resolve([bytes, end, text]);
    });
  });
}

/** Reads events without keeping them: their bytes, and the last of them. */
function readEvents(url: string, body: unknown) {
  const sent = request(url, { method: "POST", agent: false });
  sent.end(JSON.stringify(body));
  return new Promise<readonly [bytes: number, end: string]>((resolve, reject) => {
    sent.on("error", reject);
    sent.on("response", (answer: IncomingMessage) => {
      let [bytes, end] = [0, ""];
      answer.on("data", (piece: Buffer) => {
        bytes += piece.length;
        end = (end + piece.subarray(-500).toString("latin1")).slice(-500);
      });
      answer.on("end", () => resolve([bytes, end]));
    });
  });
}

const streamed = (bytes: number, isText = false) =>
  encodeInferRequest({ model: "default", inputs: given(bytes, isText) });

test("a part of 1 GB comes whole over gRPC", async () => {
  const { grpcAddress } = await start();
  const [bytes, end] = await callGrpc(grpcAddress, methodPath("ModelStreamInfer"), streamed(GB));
  expect([bytes > GB, bytes < GB + 200, end]).toEqual([true, true, "0 "]);
});

describe("a part that is longer than a text may be", () => {
  test("comes whole over gRPC where it is one text", async () => {
    const { grpcAddress } = await start();
    const [bytes, end] = await callGrpc(grpcAddress, methodPath("ModelStreamInfer"), streamed(LONG, true));
    expect([bytes > LONG, bytes < LONG + 200, end]).toEqual([true, true, "0 "]);
  });

  test("comes whole over TensorFlow Serving's PredictStreamed", async () => {
    const { grpcAddress } = await start();
    const asked = { spec: NO_MODEL_SPEC, inputs: given(LONG, false), outputFilter: [] };
    const path = "/tensorflow.serving.PredictionService/PredictStreamed";
    const [bytes, end] = await callGrpc(grpcAddress, path, encodePredictRequest(asked, "typed"));
    expect([bytes > LONG, bytes < LONG + 200, end]).toEqual([true, true, "0 "]);
  });

  test.each([
    [false, "0.0,".length * (LONG / 4)],
    [true, LONG],
  ])("of numbers, or of one text (%s), comes whole as an event of JSON", async (isText, characters) => {
    const { httpUrl } = await start();
    const url = `${httpUrl}/v2/models/default/generate_stream`;
    const [bytes, end] = await readEvents(url, { bytes: LONG, text: isText });
    expect(bytes).toBeGreaterThanOrEqual(characters);
    expect(bytes).toBeLessThan(characters + 200);
    expect(end).toMatch(isText ? /aaa"\}\n\n$/ : /0\.0,0\.0\]\}\n\n$/);
  });

  test("is refused by a client over HTTP, which says that gRPC carries it, and goes on", async () => {
    const { httpUrl } = await start();
    const models = connect(httpUrl);
    onTestFinished(() => models.$close());
    const parts = models.default!.stream({ bytes: [LONG], text: [true] });
    await expect(parts.next()).rejects.toMatchObject({
      code: "resource_exhausted",
      message: expect.stringMatching(/cannot be read: a part has more than \d+ characters .* Connect by gRPC/),
    });
    const small = await models.default!.stream({ bytes: [4], text: [false] }).next();
    expect(small.value).toMatchObject({ y: { shape: [1] } });
  });
});

describe("a part of more than 2 GB", () => {
  test("is refused in the form of each protocol, and the hooks go on", async () => {
    const { grpcAddress, httpUrl } = await start();
    const [, end, refused] = await callGrpc(grpcAddress, methodPath("ModelStreamInfer"), streamed(2 * GB));
    expect([end, refused]).toEqual(["0 ", expect.stringContaining("y has 2147483648 bytes")]);
    const [, told] = await readEvents(`${httpUrl}/v2/models/default/generate_stream`, { bytes: 2 * GB, text: false });
    expect(JSON.parse(told.replace("data: ", ""))).toEqual({
      error: expect.stringContaining("y has 2147483648 bytes"),
    });
    expect((await callGrpc(grpcAddress, methodPath("ModelStreamInfer"), streamed(4)))[1]).toBe("0 ");
  });
});
