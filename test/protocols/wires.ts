import type { ServiceError } from "@grpc/grpc-js";
import { ID_HEADER } from "../../src/observability/request-id.ts";
import type { Server } from "../../src/server/server.ts";
import { encodeAs } from "../../src/tensor/codecs/protobuf/proto-messages.ts";
import { type CallChoices, connect } from "../grpc/byte-client.ts";
import { oracle, type Plain } from "../grpc/oracle.ts";
import { kserveOracle } from "./kserve/kserve-oracle.ts";

/** A request for `x`, a float32 list, and everything that may be wrong with it. */
export interface Question {
  readonly model?: string;
  readonly version?: string;
  readonly signature?: string;
  /** The only output wanted. */
  readonly output?: string;
  /** Elements of `x`. Default 2. */
  readonly count?: number;
  /** Sends a message that cannot be read. */
  readonly isMalformed?: boolean;
  readonly signal?: AbortSignal;
  /** Its id. */
  readonly id?: string;
}

/** An answer's status (gRPC's number or HTTP's) and its error; empty = there was none. */
type Outcome = readonly [status: number, error: string];

/** One protocol on one transport. */
export interface Wire {
  /** The name of its protocol. */
  readonly protocol: string;
  readonly transport: "grpc" | "http";
  /** Its gRPC method, or the pattern of its URL. */
  readonly path: string;
  /** True if a request that fails leaves its call as it is. */
  readonly errorsAreMessages?: boolean;
  ask(server: Pick<Server, "grpcAddress" | "httpUrl">, question: Question): Promise<Outcome>;
}

const values = ({ count = 2 }: Question) => new Array<number>(count).fill(0.5);

/** Every protocol that infers, on every transport that it has. */
export const WIRES = {
  "TensorFlow Serving gRPC": grpc(
    "tensorflow-serving",
    "/tensorflow.serving.PredictionService/Predict",
    predictMessage,
  ),
  "PredictStreamed gRPC": grpc(
    "tensorflow-serving",
    "/tensorflow.serving.PredictionService/PredictStreamed",
    predictMessage,
  ),
  "TensorFlow Serving HTTP": http("tensorflow-serving", "/v1/models/{name}:predict", (question) => {
    const { model = "default", version, signature, output } = question;
    const path = `/v1/models/${model}${version === undefined ? "" : `/versions/${version}`}:predict`;
    const filter = output === undefined ? {} : { output_filter: [output] };
    return { path, body: JSON.stringify({ signature_name: signature, inputs: values(question), ...filter }) };
  }),
  "Regress gRPC": grpc("tensorflow-serving", "/tensorflow.serving.PredictionService/Regress", (question) =>
    encodeAs("tensorflow.serving.RegressionRequest", { model_spec: modelSpec(question), input: examples(question) }),
  ),
  "MultiInference gRPC": grpc(
    "tensorflow-serving",
    "/tensorflow.serving.PredictionService/MultiInference",
    (question) => {
      const tasks = [{ model_spec: modelSpec(question), method_name: "tensorflow/serving/regress" }];
      return encodeAs("tensorflow.serving.MultiInferenceRequest", { tasks, input: examples(question) });
    },
  ),
  "Regress HTTP": http("tensorflow-serving", "/v1/models/{name}:regress", (question) => {
    const { model = "default", version, signature } = question;
    const path = `/v1/models/${model}${version === undefined ? "" : `/versions/${version}`}:regress`;
    return {
      path,
      body: JSON.stringify({ signature_name: signature, examples: values(question).map((x) => ({ x })) }),
    };
  }),
  "KServe gRPC": grpc("kserve", "/inference.GRPCInferenceService/ModelInfer", (question) =>
    kserveOracle.encodeRequest(kserveMessage(question)),
  ),
  "KServe gRPC stream": stream("kserve", "/inference.GRPCInferenceService/ModelStreamInfer"),
  "KServe HTTP": http("kserve", "/v2/models/{name}/infer", (question) => {
    const { model = "default", version, signature, output } = question;
    const path = `/v2/models/${model}${version === undefined ? "" : `/versions/${version}`}/infer`;
    const inputs = [{ name: "x", datatype: "FP32", shape: [values(question).length], data: values(question) }];
    const outputs = output === undefined ? {} : { outputs: [{ name: output }] };
    const parameters = signature === undefined ? {} : { parameters: { signature_name: signature } };
    return { path, body: JSON.stringify({ inputs, ...outputs, ...parameters }) };
  }),
  "Kibernetika HTTP": http("kibernetika", "/predict", (question) => {
    const { model = "default", signature = "", version = "", output } = question;
    const path = `/predict/${model}/${signature}/${version}`;
    const filter = output === undefined ? {} : { out_filter: [output] };
    return { path, body: JSON.stringify({ inputs: { x: { dtype: 1, data: values(question) } }, ...filter }) };
  }),
  "SageMaker HTTP": http("sagemaker", "/invocations", (question) => {
    const { model = "default", version, signature, output } = question;
    const attributes = `tfs-model-name=${model}${version === undefined ? "" : `,tfs-model-version=${version}`}`;
    const filter = output === undefined ? {} : { output_filter: [output] };
    return {
      path: "/invocations",
      body: JSON.stringify({ signature_name: signature, inputs: values(question), ...filter }),
      headers: { "content-type": "application/json", "x-amzn-sagemaker-custom-attributes": attributes },
    };
  }),
  "Simple TensorFlow Serving HTTP": http("simple-tensorflow-serving", "/", (question) => {
    const { model: model_name, version: model_version, signature: signature_name } = question;
    const data = { x: values(question) };
    const headers = { "content-type": "application/json" };
    return { path: "/", body: JSON.stringify({ model_name, model_version, signature_name, data }), headers };
  }),
  "PredictJSON gRPC": grpc("kibernetika", "/tensorflow.serving.PredictionService/PredictJSON", (question) =>
    oracle.encodeJson({ json_string: Buffer.from(JSON.stringify({ x: values(question) })) }),
  ),
  "PredictJSON HTTP": http("kibernetika", "/serving-proxy", (question) => {
    return { path: "/serving-proxy", body: JSON.stringify({ x: values(question) }) };
  }),
} satisfies Record<string, Wire>;

/** A key of {@link WIRES}. */
export type WireName = keyof typeof WIRES;

function predictMessage(question: Question): Buffer {
  const { model = "default", version, signature = "", output } = question;
  const x = {
    dtype: "DT_FLOAT",
    tensor_shape: { dim: [{ size: values(question).length }] },
    float_val: values(question),
  };
  const model_spec = { name: model, signature_name: signature, ...(version && { version: { value: version } }) };
  return oracle.encodeRequest({ model_spec, inputs: { x }, output_filter: output === undefined ? [] : [output] });
}

function modelSpec({ model = "default", version, signature = "" }: Question) {
  return { name: model, signature_name: signature, ...(version !== undefined && { version }) };
}

/** An example for each element of `x`. */
function examples(question: Question) {
  const toExample = (value: number) => ({ features: { feature: { x: { float_list: { value: [value] } } } } });
  return { example_list: { examples: values(question).map(toExample) } };
}

function kserveMessage(question: Question): Plain {
  const { model = "default", version = "", signature, output } = question;
  const contents = { fp32_contents: values(question) };
  return {
    model_name: model,
    model_version: version,
    parameters: signature === undefined ? {} : { signature_name: { string_param: signature } },
    inputs: [{ name: "x", datatype: "FP32", shape: [values(question).length], contents }],
    outputs: output === undefined ? [] : [{ name: output }],
  };
}

/** A field that claims more bytes than there are. */
const MALFORMED_MESSAGE = Buffer.of(0x0a, 99);

function grpc(protocol: string, path: string, encode: (question: Question) => Buffer): Wire {
  const ask: Wire["ask"] = async ({ grpcAddress }, question) => {
    const { isMalformed = false } = question;
    const message = isMalformed ? MALFORMED_MESSAGE : encode(question);
    const call = connect(grpcAddress).call(path, message, toChoices(question));
    return call.then(
      () => [0, ""],
      ({ code, details }: ServiceError) => [code, details],
    );
  };
  return { protocol, transport: "grpc", path, ask };
}

function toChoices({ signal, id }: Question): CallChoices {
  return { ...(signal && { signal }), ...(id && { metadata: { [ID_HEADER]: id } }) };
}

/** The errors of a stream's requests are messages of it; those of the transport end it. */
function stream(protocol: string, path: string): Wire {
  const ask: Wire["ask"] = async ({ grpcAddress }, question) => {
    const message =
      question.isMalformed === true ? MALFORMED_MESSAGE : kserveOracle.encodeRequest(kserveMessage(question));
    try {
      const { value } = await connect(grpcAddress).stream(path, message, toChoices(question)).next();
      return [0, String(kserveOracle.decodeStreamResponse(value).error_message)];
    } catch (reason) {
      return [(reason as ServiceError).code, (reason as ServiceError).details];
    }
  };
  return { protocol, transport: "grpc", path, errorsAreMessages: true, ask };
}

interface HttpCall {
  readonly path: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function http(protocol: string, path: string, write: (question: Question) => HttpCall): Wire {
  const ask: Wire["ask"] = async ({ httpUrl }, question) => {
    const { path: asked, body: written, headers = {} } = write(question);
    const { isMalformed = false, signal = null, id } = question;
    const body = isMalformed ? "{" : written;
    const sent = { ...headers, ...(id && { [ID_HEADER]: id }) };
    const response = await fetch(httpUrl + asked, { method: "POST", body, headers: sent, signal });
    const { error = "" } = (await response.json()) as { error?: string };
    return [response.status, error];
  };
  return { protocol, transport: "http", path, ask };
}
