import { DecodeBudget } from "../../src/platform/limits/memory/decode-budget.ts";
import { decodeHealthRequest } from "../../src/protocols/grpc-standard/grpc-standard.ts";
import { decodePredictJson, encodePredictJson } from "../../src/protocols/kibernetika/grpc-codec.ts";
import { decodeInferRequest, readRequestId } from "../../src/protocols/kserve/grpc-request.ts";
import { toInputs } from "../../src/protocols/kserve/http-decode.ts";
import { parseKserveBody } from "../../src/protocols/kserve/http-request.ts";
import { toRawInput } from "../../src/protocols/kserve/raw-input.ts";
import {
  decodePredictRequest,
  decodePredictResponse,
  encodePredictRequest,
  predictResponseParts,
} from "../../src/protocols/tensorflow-serving/grpc-codec.ts";
import { parsePredictBody, readInputs } from "../../src/protocols/tensorflow-serving/http-request.ts";
import { NO_MODEL_SPEC } from "../../src/protocols/tensorflow-serving/model-spec.ts";
import {
  encodePredictionLog,
  readPredictionLogMessage,
} from "../../src/protocols/tensorflow-serving/prediction-log-message.ts";
import { decodeMessage, encodeAs } from "../../src/tensor/codecs/protobuf/proto-messages.ts";
import { encodeMessage } from "../../src/tensor/codecs/protobuf/wire-writer.ts";
import { createTensor } from "../../src/tensor/tensor.ts";
import { kserveOracle } from "../protocols/kserve/kserve-oracle.ts";
import { bodyDecoders } from "./body-decoders.ts";
import type { Decoder } from "./decoder.ts";
import { http2Decoders } from "./http2-decoders.ts";
import { imageDecoders } from "./image-decoders.ts";
import { textDecoders } from "./text-decoders.ts";

const MAX_BYTES = 1_000_000;
const V2 = "/inference.GRPCInferenceService";
const INFER = "/v2/models/m/infer";
const budget = () => new DecodeBudget(MAX_BYTES);
const floats = Float32Array.of(1, 2.5, Number.NaN, -0);

/** Every decoder of what clients send. */
export async function createDecoders(): Promise<Decoder[]> {
  return [
    ...kserveDecoders(),
    ...tensorflowDecoders(),
    ...bodyDecoders(),
    ...textDecoders(),
    ...http2Decoders(),
    ...(await imageDecoders()),
  ];
}

function kserveDecoders(): Decoder[] {
  const x = { name: "x", datatype: "FP32", shape: [2, 2] };
  const text = { name: "s", datatype: "BYTES", shape: [2] };
  const parameters = { timeout: { int64_param: 7 }, p: { double_param: 1.5 }, s: { string_param: "ü" } };
  const values = Array.from(floats);
  const json = `{"id":"1","parameters":{"timeout":7},"inputs":[{"name":"x","shape":[2,2],"datatype":"FP32","data":[[1,2.5],[NaN,-0]]},{"name":"s","shape":[2],"datatype":"BYTES","data":["é",{"b64":"/w=="}]},{"name":"n","shape":[1],"datatype":"INT64","data":[9007199254740993]}],"outputs":[{"name":"y","parameters":{"classification":3}}]}`;
  const head = `{"inputs":[{"name":"x","shape":[2,2],"datatype":"FP32","parameters":{"binary_data_size":16}},{"name":"s","shape":[2],"datatype":"BYTES"}]}`;
  const raws = [Buffer.from(floats.buffer), Buffer.from("\x01\0\0\0a\0\0\0\0")];
  return [
    {
      name: "ModelInferRequest",
      route: { method: `${V2}/ModelInfer` },
      samples: [
        kserveOracle.encodeRequest({ model_name: "m", parameters, inputs: [x, text], raw_input_contents: raws }),
        kserveOracle.encodeRequest({
          model_name: "m",
          inputs: [
            { ...x, contents: { fp32_contents: values } },
            { ...text, contents: { bytes_contents: [Buffer.from("a"), Buffer.alloc(0)] } },
            { name: "i", datatype: "INT64", shape: [2], contents: { int64_contents: ["-1", "9007199254740993"] } },
            { name: "b", datatype: "BOOL", shape: [1], contents: { bool_contents: [true] } },
          ],
          outputs: [{ name: "y", parameters }],
        }),
      ],
      decode: (bytes) => decodeInferRequest(bytes, MAX_BYTES),
    },
    {
      name: "a request's id",
      samples: [kserveOracle.encodeRequest({ model_name: "m", id: "7", inputs: [x] })],
      decode: readRequestId,
    },
    {
      name: "KServe JSON",
      route: { path: INFER },
      samples: [Buffer.from(json)],
      decode: (bytes) => {
        const context = { model: "m", budget: budget() };
        return toInputs(parseKserveBody(bytes, context.budget).inputs, new Uint8Array(0), context);
      },
    },
    {
      name: "KServe binary data",
      route: { path: INFER, headers: { "inference-header-content-length": String(head.length) } },
      samples: [Buffer.concat([Buffer.from(head), ...raws])],
      decode: (bytes) => {
        const context = { model: "m", budget: budget() };
        const split = Math.min(bytes.length, head.length);
        return toInputs(
          parseKserveBody(bytes.subarray(0, split), context.budget).inputs,
          bytes.subarray(split),
          context,
        );
      },
    },
    {
      name: "a raw body",
      route: { path: INFER, headers: { "inference-header-content-length": "0" }, isImage: true },
      samples: [Buffer.from(floats.buffer)],
      decode: (bytes) =>
        toRawInput([{ name: "x", dtype: "float32", shape: [-1, 2] }], bytes, { model: "m", budget: budget() }),
    },
    ...adminDecoders(),
  ];
}

/** Calls beside inference have messages without tensors. */
function adminDecoders(): Decoder[] {
  const messages = {
    "inference.ModelMetadataRequest": { name: "m", version: "1" },
    "inference.RepositoryModelLoadRequest": { model_name: "m", parameters: { config: { string_param: "{}" } } },
    "inference.TraceSettingRequest": { settings: { trace_level: { value: ["OFF"] } }, model_name: "m" },
    "inference.LogSettingsRequest": { settings: { log_info: { bool_param: true } } },
  };
  return Object.entries(messages).map(([type, message]) => ({
    name: type,
    route: { method: `${V2}/${type.slice("inference.".length, -"Request".length)}` },
    samples: [encodeAs(type, message)],
    decode: (bytes) => decodeMessage(type, bytes),
  }));
}

function tensorflowDecoders(): Decoder[] {
  const inputs = {
    x: createTensor("float32", [2, 2], floats),
    s: createTensor("bytes", [1], [Buffer.from("a")]),
    n: createTensor("int64", [2], BigInt64Array.of(-1n, 2n ** 60n)),
  };
  const request = { spec: NO_MODEL_SPEC, inputs, outputFilter: ["y"] };
  const rows = '{"instances": [{"x": [1, 2.5], "s": "é"}, {"x": [NaN, -3e2], "s": {"b64": "/w=="}}]}';
  return [
    {
      name: "PredictRequest",
      route: { method: "/tensorflow.serving.PredictionService/Predict" },
      samples: [encodePredictRequest(request, "typed"), encodePredictRequest(request, "content")],
      decode: (bytes) => decodePredictRequest(bytes, MAX_BYTES),
    },
    {
      name: "PredictJSON",
      route: { method: "/tensorflow.serving.PredictionService/PredictJSON" },
      samples: [encodePredictJson(Buffer.from(rows))],
      decode: decodePredictJson,
    },
    {
      name: "TensorFlow Serving's JSON",
      route: { path: "/v1/models/m:predict" },
      samples: [Buffer.from(rows), Buffer.from('{"inputs": {"x": [[1, 2.5]], "s": ["a\\n"]}}')],
      decode: (bytes) => readInputs(parsePredictBody(bytes, budget())),
    },
    {
      name: "PredictResponse",
      samples: [encodeMessage(predictResponseParts({ spec: NO_MODEL_SPEC, outputs: inputs }, "typed"))],
      decode: (bytes) => decodePredictResponse(bytes, MAX_BYTES),
    },
    {
      name: "PredictionLog",
      samples: [
        encodePredictionLog(
          { kind: "predict_log", request: encodePredictRequest(request, "typed"), response: Buffer.from("a") },
          { spec: NO_MODEL_SPEC, rate: 0.5, timeMs: 1.5e12 },
        ),
        encodePredictionLog(
          {
            kind: "predict_streamed_log",
            request: Buffer.from("a"),
            parts: [{ response: Buffer.from("b"), afterMs: 1.5 }],
          },
          { spec: NO_MODEL_SPEC, rate: 1 },
        ),
      ],
      decode: readPredictionLogMessage,
    },
    {
      name: "a health check",
      route: { method: "/grpc.health.v1.Health/Check" },
      samples: [Buffer.from("\n\x01m")],
      decode: decodeHealthRequest,
    },
  ];
}
