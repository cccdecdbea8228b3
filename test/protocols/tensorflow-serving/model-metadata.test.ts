import { beforeAll, describe, expect, it } from "vitest";
import { createServer, type Server } from "../../../src/server/server.ts";
import { decodeMessage } from "../../../src/tensor/codecs/protobuf/proto-messages.ts";
import type { Tensors } from "../../../src/tensor/tensor.ts";
import type { Plain } from "../../grpc/oracle.ts";
import { startServer } from "../../helpers/start-server.ts";
import { connectService } from "./connect-service.ts";

const FIXTURES = "test/fixtures";
const FIELDS = ["signature_def"];

let server: Server;
beforeAll(async () => {
  const models = {
    half: { path: `${FIXTURES}/models/half-plus-two.onnx` },
    graph: { path: `${FIXTURES}/tensorflow/defaults`, options: { engine: "portable" } },
    saved: { path: `${FIXTURES}/tensorflow/shapes`, options: { engine: "portable" } },
    hooked: {
      path: `${FIXTURES}/tensorflow/shapes`,
      options: { engine: "portable" },
      hooks: { preprocess: (inputs: Tensors) => inputs },
    },
    any: { driver: "null" },
  };
  server = await createServer({ models, http: {} });
  return () => server.close();
});

/** The signatures over gRPC, after the same came over HTTP. */
async function signaturesOf(name: string): Promise<Record<string, Plain>> {
  const answer = await connectService(server, "PredictionService")("GetModelMetadata", {
    model_spec: { name },
    metadata_field: FIELDS,
  });
  expect(answer.model_spec).toMatchObject({ name, signature_name: "", version: { value: "1" } });
  const { type_url, value } = (answer.metadata as Record<string, { type_url: string; value: Buffer }>).signature_def!;
  expect(type_url).toBe("type.googleapis.com/tensorflow.serving.SignatureDefMap");
  const map = decodeMessage("tensorflow.serving.SignatureDefMap", value);
  const response = await fetch(`${server.httpUrl}/v1/models/${name}/metadata`);
  expect(await response.json()).toEqual({
    model_spec: { name, signature_name: "", version: "1" },
    metadata: { signature_def: map },
  });
  return map.signature_def as Record<string, Plain>;
}

const shape = (...sizes: number[]) => ({
  dim: sizes.map((size) => ({ size: String(size), name: "" })),
  unknown_rank: false,
});

describe("the metadata of a model", () => {
  it("has the inputs and outputs of a model of any framework", async () => {
    const floats = (name: string) => ({ name, dtype: "DT_FLOAT", tensor_shape: shape(-1) });
    expect(await signaturesOf("half")).toEqual({
      serving_default: {
        inputs: { x: floats("x") },
        outputs: { y: floats("y") },
        method_name: "tensorflow/serving/predict",
        defaults: {},
      },
    });
  });

  it("has the graph's own names, and the defaults of inputs", async () => {
    const { serving_default } = await signaturesOf("graph");
    const { inputs, defaults } = serving_default as { inputs: Record<string, Plain>; defaults: Record<string, Plain> };
    expect(Object.values(inputs).map(({ name }) => name)).toContainEqual(expect.stringMatching(/:0$/));
    expect(Object.keys(defaults).length).toBeGreaterThan(0);
    for (const [name, value] of Object.entries(defaults)) expect(value.dtype).toBe(inputs[name]?.dtype);
  });

  it("has the signature of a SavedModel that initialises it, which no request runs", async () => {
    const { __saved_model_init_op } = await signaturesOf("saved");
    const nothing = { name: "NoOp", dtype: "DT_INVALID", tensor_shape: { dim: [], unknown_rank: true } };
    expect(__saved_model_init_op).toEqual({
      inputs: {},
      outputs: { __saved_model_init_op: nothing },
      method_name: "",
      defaults: {},
    });
    const call = connectService(server, "PredictionService");
    const model_spec = { name: "saved", signature_name: "__saved_model_init_op" };
    await expect(call("Predict", { model_spec })).rejects.toThrow(
      'Serving signature key "__saved_model_init_op" not found.',
    );
  });

  it("is that of the pipeline where hooks stand before a SavedModel", async () => {
    expect(Object.keys(await signaturesOf("hooked"))).toEqual(["serving_default"]);
  });

  it("has a signature without names where any are taken", async () => {
    const nothing = { inputs: {}, outputs: {}, method_name: "tensorflow/serving/predict", defaults: {} };
    expect(await signaturesOf("any")).toEqual({ serving_default: nothing });
  });

  it.each([
    [{ metadata_field: FIELDS }, "Missing ModelSpec"],
    [{ model_spec: { name: "half" } }, "GetModelMetadataRequest must specify at least one metadata_field"],
    [{ model_spec: { name: "half" }, metadata_field: ["graph"] }, "Metadata field graph is not supported"],
    [{ model_spec: { name: "none" }, metadata_field: FIELDS }, "Servable not found for request: Latest(none)."],
    [
      { model_spec: { name: "half", version: { value: "7" } }, metadata_field: FIELDS },
      "Servable not found for request: Specific(half, 7).",
    ],
  ])("is refused for %j with the original's text", async (request, text) => {
    const call = connectService(server, "PredictionService");
    await expect(call("GetModelMetadata", request)).rejects.toThrow(text);
  });

  it("is found by version and by label over HTTP, and not where there is none", async () => {
    const statusOf = async (rest: string) => (await fetch(`${server.httpUrl}/v1/models/${rest}/metadata`)).status;
    expect(await Promise.all(["half/versions/1", "half/versions/2", "none"].map(statusOf))).toEqual([200, 404, 404]);
    expect(await statusOf("half/labels/nix")).toBe(400);
  });
});

describe("the metadata of OpenVINO Model Server", () => {
  it("has protobuf's own names of fields, and none that TensorFlow 1 does not know", async () => {
    const models = { half: { path: `${FIXTURES}/models/half-plus-two.onnx` } };
    const { httpUrl } = await startServer({ models, openvinoMetadata: true });
    const response = await fetch(`${httpUrl}/v1/models/half/metadata`);
    const dim = [{ size: "-1", name: "" }];
    const floats = (name: string) => ({ name, dtype: "DT_FLOAT", tensorShape: { dim, unknownRank: false } });
    const signature = { inputs: { x: floats("x") }, outputs: { y: floats("y") } };
    expect(await response.json()).toEqual({
      modelSpec: { name: "half", version: "1", signatureName: "" },
      metadata: {
        signature_def: {
          "@type": "type.googleapis.com/tensorflow.serving.SignatureDefMap",
          signatureDef: { serving_default: { ...signature, methodName: "tensorflow/serving/predict" } },
        },
      },
    });
  });
});
