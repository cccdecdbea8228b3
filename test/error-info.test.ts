import { fileURLToPath } from "node:url";
import { type ServiceDefinition, type ServiceError, status } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { describe, expect, test } from "vitest";
import { fromPythonError } from "../src/drivers/python/answer-calls.ts";
import { errorInfo, hintedError, hintMembers, unknownName } from "../src/error-info.ts";
import { ServingError } from "../src/errors.ts";
import { LOST_PROCESS } from "../src/lost-process.ts";
import { toWireError } from "../src/platform/threads/wire-error.ts";
import { publicError } from "../src/serving/public-error.ts";
import { bytesField, encodeMessage, integerField, textField } from "../src/tensor/codecs/protobuf/wire-writer.ts";
import type { Tensor, Tensors } from "../src/tensor/tensor.ts";
import { authFiles, basic } from "./access/auth-fixture.ts";
import { connect } from "./grpc/byte-client.ts";
import { startServer } from "./helpers/start-server.ts";

const half = { path: "test/fixtures/models/half-plus-two.onnx" };
const X = { name: "x", shape: [1], datatype: "FP32", data: [1] };
const definitions = loadSync(fileURLToPath(new URL("grpc/rpc-status.proto", import.meta.url)));
const { Decode } = definitions["google.rpc.Decoder"] as ServiceDefinition;

/** A google.rpc.Status. */
interface Told {
  readonly details: readonly { readonly type_url: string; readonly value: Buffer }[];
}

test("a hint has members of a bounded length, in a message of a bounded size", () => {
  const wide = Array.from({ length: 5000 }, (_, at) => `column_${at}`);
  const { details } = hintedError("invalid_argument", "no", unknownName("UNKNOWN_INPUT", "c".repeat(100_000), wide));
  expect(toWireError(hintedError("internal", "no", unknownName("UNKNOWN_INPUT", "x", wide))).details).toBeDefined();
  const { reason, field, expected, did_you_mean: near } = hintMembers(details) ?? {};
  expect([reason, near]).toEqual(["UNKNOWN_INPUT", undefined]);
  expect(field).toMatch(/^c{200}… \(\d+ more characters\)$/);
  expect(expected).toMatch(/^column_0, .+ and 4990 more$/);
});

test.each<[string, Parameters<typeof hintMembers>[0]]>([
  ["no details", undefined],
  ["details that are none", "x" as never],
  ["a reason alone", [LOST_PROCESS]],
  ["bytes that are no message", [{ ...LOST_PROCESS, value: "////" }]],
  ["facts that no hint has", [errorInfo("X", { constructor: "x", error: "another" })]],
  [
    "facts of another domain",
    [{ ...LOST_PROCESS, value: Buffer.from("\n\x01X\x12\x01Y\x1a\x0a\n\x05field\x12\x01x").toString("base64") }],
  ],
])("%s are no hint", (_, details) => {
  expect(hintMembers(details)).toBeUndefined();
});

describe("texts of an error", () => {
  /** A message of protobuf: a text, a list of bytes, a number, and a message within. */
  const withTexts = (text: string) => {
    const within = encodeMessage([textField(1, "code"), textField(2, text)]);
    const parts = [textField(1, text), bytesField(2, Buffer.of(0xff, 0x2f)), integerField(3, 7), bytesField(4, within)];
    return encodeMessage(parts).toString("base64");
  };

  test("lose the server's folders in the message and in every detail, whichever message that is", () => {
    const { type } = LOST_PROCESS;
    const details = [
      errorInfo("UNKNOWN_INPUT", { field: "/srv/models/x.onnx", expected: "a/b" }),
      { type, value: withTexts('no file "/srv/models/secret place/x.onnx" here') },
      { type, value: Buffer.from("not protobuf: /srv/models/x.onnx").toString("base64") },
      LOST_PROCESS,
    ];
    const error = publicError(new ServingError("internal", "no /srv/models/x.onnx", { details }));
    expect(error.message).toBe("no x.onnx");
    expect(error.details?.[0]).toEqual(errorInfo("UNKNOWN_INPUT", { field: "x.onnx", expected: "a/b" }));
    expect(error.details?.slice(1)).toEqual([
      { type, value: withTexts('no file "x.onnx" here') },
      { type, value: Buffer.from("not protobuf: x.onnx").toString("base64") },
      LOST_PROCESS,
    ]);
  });

  test("lose them where Python has made the error, and secrets are masked in both", () => {
    const hint = { reason: "UNKNOWN_INPUT", field: "/home/me/x.csv", expected: "https://me:hunter2@host/x" };
    const made = { code: "invalid_argument", message: `no ${hint.field}`, detail: null, hint };
    const { message, details } = fromPythonError(made, true);
    expect([message, hintMembers(details)?.field]).toEqual(["no (path)", "(path)"]);
    expect(hintMembers(details)?.expected).not.toContain("hunter2");
    expect(hintMembers(fromPythonError(made, false).details)?.field).toBe("/home/me/x.csv");
  });
});

describe("what is wrong with a request, for programs", () => {
  test.each<[string, string, object, object]>([
    [
      "an unknown input",
      "/v2/models/half/infer",
      { inputs: [{ ...X, name: "xx" }] },
      { code: "invalid_argument", reason: "UNKNOWN_INPUT", field: "xx", expected: "x", did_you_mean: "x" },
    ],
    [
      "a missing input",
      "/v2/models/half/infer",
      { inputs: [] },
      { code: "invalid_argument", reason: "MISSING_INPUT", field: "x", expected: "x" },
    ],
    [
      "a dtype",
      "/v2/models/half/infer",
      { inputs: [{ ...X, datatype: "INT32" }] },
      { code: "invalid_argument", reason: "WRONG_DTYPE", field: "x", expected: "FP32" },
    ],
    [
      "a shape",
      "/v2/models/half/infer",
      { inputs: [{ ...X, shape: [1, 1] }] },
      { code: "invalid_argument", reason: "WRONG_SHAPE", field: "x", expected: "[-1]" },
    ],
    [
      "a value",
      "/v2/models/half/infer",
      { inputs: [{ ...X, data: ["a"] }] },
      { code: "invalid_argument", reason: "WRONG_DTYPE", field: "x", expected: "float32" },
    ],
    [
      "an unknown output",
      "/v2/models/half/infer",
      { inputs: [X], outputs: [{ name: "yy" }] },
      { code: "invalid_argument", reason: "UNKNOWN_OUTPUT", field: "yy", expected: "y", did_you_mean: "y" },
    ],
    [
      "a parameter",
      "/v2/models/half/infer",
      { inputs: [X], parameters: { priority: "high" } },
      { code: "invalid_argument", reason: "WRONG_PARAMETER", field: "priority", expected: "an integer of 0 or more" },
    ],
    [
      "an unknown signature",
      "/predict/half/other",
      { inputs: { x: { dtype: "float32", data: [1] } } },
      { code: "failed_precondition", reason: "UNKNOWN_SIGNATURE", field: "other" },
    ],
    [
      "an unknown input of the original proxy",
      "/predict/half",
      { inputs: { xx: { dtype: "float32", data: [1] } } },
      { code: "invalid_argument", reason: "UNKNOWN_INPUT", field: "xx", did_you_mean: "x" },
    ],
    [
      "the input of a row",
      "/predict/half",
      [{ xx: 1 }],
      { code: "invalid_argument", reason: "UNKNOWN_INPUT", field: "xx", did_you_mean: "x" },
    ],
  ])("is told beside the error: %s", async (_, path, body, hint) => {
    const { httpUrl } = await startServer({ models: { half } });
    const answer = await fetch(httpUrl + path, { method: "POST", body: JSON.stringify(body) });
    const told = (await answer.json()) as Record<string, unknown>;
    expect(told).toMatchObject({ error: expect.any(String), ...hint, docs: "/v2/models/half/openapi.json" });
    expect(Object.keys(told)[0]).toBe("error");
  });

  const asV2 = (input: object) => ["/v2/models/half/infer", { inputs: [{ name: "x", ...input }] }] as const;
  test.each([
    ["datatype", ...asV2({ datatype: "FLOAT", shape: [1], data: [1] }), "WRONG_DTYPE", "BOOL, INT8, "],
    ["number of values", ...asV2({ datatype: "FP32", shape: [3], data: [1] }), "WRONG_SHAPE", "[3]"],
    ["number of bytes", ...asV2({ datatype: "FP32", shape: [3] }), "WRONG_SHAPE", "[3]"],
    ["dtype", "/predict/half", { inputs: { x: { dtype: "flot", data: [1] } } }, "WRONG_DTYPE", "a number of "],
  ] as const)("an input with a wrong %s is named, with what is expected", async (_, path, body, reason, expected) => {
    const { httpUrl } = await startServer({ models: { half } });
    const answer = await fetch(httpUrl + path, { method: "POST", body: JSON.stringify(body) });
    expect(await answer.json()).toMatchObject({
      ...{ error: expect.stringMatching(/['"]x['"]/), code: "invalid_argument", reason, field: "x" },
      expected: expect.stringContaining(expected),
      docs: "/v2/models/half/openapi.json",
    });
  });

  test("is no more than the code for an error without one", async () => {
    const { httpUrl } = await startServer({ models: { half } });
    for (const path of ["/v2/models/half/infer", "/predict/half"]) {
      const answer = await fetch(httpUrl + path, { method: "POST", body: "{" });
      expect(await answer.json()).toEqual({ error: expect.any(String), code: "invalid_argument" });
    }
  });

  test("names a document that is there, without KServe V2 too", async () => {
    const { httpUrl } = await startServer({ models: { half }, servedProtocols: "-kserve" });
    const answer = await fetch(`${httpUrl}/predict/half`, { method: "POST", body: '[{"xx": 1}]' });
    const { docs } = (await answer.json()) as { docs: string };
    expect((await fetch(httpUrl + docs)).status).toBe(200);
    expect(docs).toBe("/llms.txt");
  });

  test("of an unknown model, or path, it is the nearest one", async () => {
    const { httpUrl } = await startServer({ models: { half, other: { driver: "null" } } });
    const told = async (path: string) => (await fetch(httpUrl + path, { method: "POST", body: '{"x": [1]}' })).json();
    const model = { code: "not_found", reason: "UNKNOWN_MODEL", expected: "half, other", did_you_mean: "half" };
    expect(await told("/v2/models/haf/infer")).toMatchObject({ ...model, field: "haf", docs: "/v2/openapi.json" });
    expect(await told("/predict/haf")).toMatchObject(model);
    expect(await told("/v2/models/half/versions/7/infer")).toMatchObject({ reason: "UNKNOWN_VERSION", expected: "1" });
    expect(await told("/invocation")).toMatchObject({
      ...{ reason: "UNKNOWN_ROUTE", field: "POST /invocation", did_you_mean: "POST /invocations" },
      docs: "/v2/openapi.json",
    });
  });

  test("lists the inputs where one is missing, in one form on every route", async () => {
    const inputs = ["a", "b"].map((name) => ({ name, dtype: "float32" as const, shape: [-1] }));
    const hooks = { inputs, process: ({ a }: Tensors) => ({ sum: a as Tensor }) };
    const { httpUrl } = await startServer({ models: { two: { driver: "null", hooks } } });
    const a = { name: "a", shape: [1], datatype: "FP32", data: [1] };
    const requests: readonly (readonly [path: string, body: object])[] = [
      ["/v2/models/two/infer", { inputs: [a] }],
      ["/predict/two", { inputs: { a: { dtype: "float32", data: [1] } } }],
      ["/predict/two", { a: [1] }],
      ["/predict/two", [{ a: 1 }]],
    ];
    for (const [path, body] of requests) {
      const answer = await fetch(httpUrl + path, { method: "POST", body: JSON.stringify(body) });
      const told = { path, ...((await answer.json()) as object) };
      expect(told).toMatchObject({ path, reason: "MISSING_INPUT", field: "b", expected: "a, b" });
    }
  });

  test("leads to a document that is there, whatever name a server of one model is given", async () => {
    const { httpUrl } = await startServer({ models: { half } });
    const body = '{"inputs": {"x": {"dtype": "float32", "data": ["a"]}}}';
    for (const [path, document] of [
      ["/predict/NOSUCH", "/v2/openapi.json"],
      ["/predict/half", "/v2/models/half/openapi.json"],
    ]) {
      const answer = await fetch(httpUrl + path, { method: "POST", body });
      const { reason, docs } = (await answer.json()) as Record<string, string>;
      expect([reason, docs]).toEqual(["WRONG_DTYPE", document]);
      expect((await fetch(httpUrl + docs)).status).toBe(200);
    }
  });

  test("names no model that its caller may not know of", async () => {
    const { httpUrl } = await startServer({ models: { default: half, zebra: half }, auth: await authFiles() });
    const headers = { authorization: basic("alice", "open sesame") };
    for (const path of ["/v2/models/zebr/infer", "/predict/zebr", "/v1/models/zebr:predict"]) {
      const answer = await fetch(httpUrl + path, { method: "POST", body: '{"x": [1]}', headers });
      expect([path, await answer.text()]).toEqual([path, expect.not.stringContaining("zebra")]);
    }
  });

  test("is not told where clients compare errors as a whole", async () => {
    const { httpUrl } = await startServer({ models: { half } });
    const body = JSON.stringify({ instances: [{ xx: 1 }] });
    for (const path of ["/v1/models/half:predict", "/v1/models/haf:predict"]) {
      const answer = await fetch(httpUrl + path, { method: "POST", body });
      expect(Object.keys((await answer.json()) as object)).toEqual(["error"]);
    }
  });

  test("is told over gRPC as ErrorInfo", async () => {
    const { grpcAddress } = await startServer({ models: { half } });
    // The name of the model.
    const asked = Buffer.from("\n\x03haf");
    const error: ServiceError = await connect(grpcAddress)
      .call("/inference.GRPCInferenceService/ModelMetadata", asked)
      .then(
        () => expect.unreachable(),
        (reason) => reason,
      );
    expect(error.code).toBe(status.NOT_FOUND);
    const [bytes] = error.metadata.get("grpc-status-details-bin");
    const { details } = Decode!.responseDeserialize(bytes as Buffer) as unknown as Told;
    const plain = details.map(({ type_url: type, value }) => ({ type, value: value.toString("base64") }));
    expect(hintMembers(plain)).toEqual({
      ...{ reason: "UNKNOWN_MODEL", field: "haf", expected: "half", did_you_mean: "half" },
    });
  });
});
