import sharp from "sharp";
import { describe, expect, test } from "vitest";
import { defineHooks } from "../../../src/hooks/hooks.ts";
import { MAX_INPUTS } from "../../../src/platform/limits/memory/decode-budget.ts";
import {
  isLargeOutputs,
  type NamedOutputs,
  withLabels,
  writeOutputs,
} from "../../../src/protocols/kibernetika/http-outputs.ts";
import type { TensorSpec } from "../../../src/tensor/signature/signature.ts";
import { createTensor, type Tensor, type Tensors } from "../../../src/tensor/tensor.ts";
import { encodeModel } from "../../fixtures/make/onnx-writer.ts";
import { ScriptedService } from "../../grpc/scripted-service.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { tableOf, toyEncoder, toyTokenizer } from "../../helpers/text-model.ts";
import { serveHttp } from "../../proxy/serve-http.ts";

const ECHO = { stages: [{ driver: "null" }] };
const JSON_TYPE = { "content-type": "application/json" };
const BODY = '{"inputs": {"x": {"dtype": 1, "data": [[1, 2.5]]}}}';

function post(url: string, body: RequestInit["body"], headers: Record<string, string> = {}) {
  return fetch(url, { method: "POST", body: body ?? null, headers });
}

async function errorOf(response: Promise<Response>) {
  const { status, headers } = await response;
  expect(headers.get("content-type")).toBe("application/json");
  return [status, ((await (await response).json()) as { error: string }).error];
}

describe("POST /predict", () => {
  test.each([
    "/predict",
    "/predict/",
    "/predict/any",
    "/predict/any/serving_default",
    "/predict/any/serving_default/1",
    "/predict/any//1/",
    "/predict/any?x=1",
  ])("answers at %s, whatever the model is called", async (path) => {
    const { httpUrl } = await startServer(ECHO);
    const response = await post(httpUrl + path, BODY, JSON_TYPE);
    expect([response.status, response.headers.get("content-type"), await response.text()]).toEqual([
      200,
      "application/json",
      '{"x":[[1.0,2.5]]}',
    ]);
  });

  test("goes to the model of the path where there are several", async () => {
    const named = (model: string) => ({ driver: "null", hooks: { process: () => ({ model }) } });
    const { httpUrl } = await startServer({ models: { a: named("a"), "b c": named("b c") } });
    const answers = ["/a", "/b%20c", "/a/serving_default/1"].map((path) => post(`${httpUrl}/predict${path}`, BODY));
    expect(await Promise.all(answers.map(async (each) => (await each).json()))).toEqual([
      { model: "a" },
      { model: "b c" },
      { model: "a" },
    ]);
    expect(await errorOf(post(`${httpUrl}/predict/B`, BODY))).toEqual([
      404,
      expect.stringContaining("This server has a, b c."),
    ]);
    expect(await errorOf(post(`${httpUrl}/predict`, BODY))).toEqual([
      400,
      "The path names no model; expected /predict/MODEL. This server has a, b c.",
    ]);
  });

  test("hands signature and version on, but not the version 0, which says that there is none", async () => {
    const service = new ScriptedService();
    const { url } = await serveHttp(service);
    for (const path of ["/any/a%20b/7", "/any/s/0", "/any"]) await post(`${url}/predict${path}`, BODY);
    expect(service.requests.map(({ model, signature, version }) => [model, signature, version])).toEqual([
      ["", "a b", 7n],
      ["", "s", undefined],
      ["", "", undefined],
    ]);
  });

  test("hands the filter on, an empty one not", async () => {
    const service = new ScriptedService();
    const { url } = await serveHttp(service);
    await post(`${url}/predict`, '{"inputs": {}, "out_filter": ["y"]}');
    await post(`${url}/predict`, '{"inputs": {}, "out_filter": []}');
    expect(service.requests.map(({ outputs }) => outputs)).toEqual([["y"], undefined]);
  });

  test.each(["one", "1.5", "-1", "9223372036854775808", "0x1"])("does not know the version %s", async (version) => {
    const { httpUrl } = await startServer(ECHO);
    expect(await errorOf(post(`${httpUrl}/predict/m/serving_default/${version}`, BODY))).toEqual([
      404,
      "Bad version value",
    ]);
  });

  test.each([
    ["/predict/m/s/1/more", 404, /^There is no \/predict\/m\/s\/1\/more; expected/],
    ["/predict/m/%zz", 404, /not percent-encoded correctly/],
  ])("refuses %s", async (path, status, message) => {
    const { httpUrl } = await startServer(ECHO);
    const [code, error] = await errorOf(post(httpUrl + path, BODY));
    expect([code, error]).toEqual([status, expect.stringMatching(message)]);
  });

  test.each([
    "application/json",
    "Application/JSON; charset=utf-8",
    "application/vnd.api+json",
    "text/plain",
    "application/x-www-form-urlencoded",
  ])("takes %s for JSON", async (type) => {
    const { httpUrl } = await startServer(ECHO);
    expect((await post(`${httpUrl}/predict`, BODY, { "content-type": type })).status).toBe(200);
  });

  test.each(["image/png", "application/octet-stream", "multipart/mixed; boundary=x"])("refuses %s", async (type) => {
    const { httpUrl } = await startServer(ECHO);
    expect(await errorOf(post(`${httpUrl}/predict`, BODY, { "content-type": type }))).toEqual([
      415,
      `Content-Type "${type.split(";")[0]}" is not supported; send application/json, text/csv or multipart/form-data.`,
    ]);
  });

  test.each([
    ["rows by name", '[{"size": 2, "kind": "flat"}, {"size": null, "kind": "round"}]', "application/json"],
    ["columns", '{"size": [2, null], "kind": ["flat", "round"]}', "application/x-www-form-urlencoded"],
    [
      "MLflow's split form",
      '{"dataframe_split": {"columns": ["size", "kind"], "data": [[2, "flat"], [null, "round"]]}}',
      "application/json",
    ],
    [
      "MLflow's records",
      '{"dataframe_records": [{"size": 2, "kind": "flat"}, {"size": null, "kind": "round"}]}',
      "application/json",
    ],
    ["CSV with a line of names", "size,kind\n2,flat\n,round\n", "text/csv"],
  ])("takes %s", async (_, body, type) => {
    const { httpUrl } = await startServer(ECHO);
    const response = await post(`${httpUrl}/predict`, body, { "content-type": type });
    expect([response.status, await response.text()]).toEqual([200, '{"size":[2.0,null],"kind":["flat","round"]}']);
  });

  test("takes pandas' split form for a table, unless a column has the name of one of its members", async () => {
    const inputs = (...names: string[]) => names.map((name) => ({ name, dtype: "float32" as const, shape: [-1] }));
    const echo = (...names: string[]) => ({
      driver: "null",
      hooks: { inputs: inputs(...names), process: (given: Record<string, Tensor>) => given },
    });
    const models = { homes: echo("age", "size"), own: echo("columns", "data"), kept: echo("index", "x") };
    const { httpUrl } = await startServer({ models });
    const ask = async (name: string, body: string) => {
      const answer = await post(`${httpUrl}/predict/${name}`, body, JSON_TYPE);
      return [answer.status, await answer.text()];
    };
    const rows = (count: number) => `"data": [${new Array(count).fill("[1.5, 2]")}]`;
    const same = [200, '{"age":[1.5],"size":[2.0]}'];
    expect(await ask("homes", `{"columns": ["age", "size"], ${rows(1)}}`)).toEqual(same);
    expect(await ask("homes", `{"columns": ["age", "size"], "index": [0], ${rows(1)}}`)).toEqual(same);
    const [status, many] = await ask("homes", `{"columns": ["age", "size"], ${rows(50_000)}}`);
    expect([status, JSON.parse(`${many}`).age.length]).toEqual([200, 50_000]);
    expect(await ask("homes", '{"columns": ["age", "size"], "data": [[1]]}')).toEqual([
      400,
      expect.stringContaining("row 1 of dataframe_split has 1 values for 2 columns"),
    ]);
    expect(await ask("own", '{"columns": [1.5], "data": [2]}')).toEqual([200, '{"columns":[1.5],"data":[2.0]}']);
    expect(await ask("kept", '{"index": [1.5], "x": [2]}')).toEqual([200, '{"index":[1.5],"x":[2.0]}']);
  });

  test("takes rows of any size, of a model's only input too, and answers in parts where these are asked for", async () => {
    const { httpUrl } = await startServer(ECHO);
    const send = async (body: string, headers: Record<string, string> = JSON_TYPE) =>
      (await post(`${httpUrl}/predict`, body, headers)).text();
    expect(await send("[[1, 2.5], [3, 4]]")).toBe('{"inputs":[[1.0,2.5],[3.0,4.0]]}');
    expect(await send('{"size": 2, "kind": "flat"}')).toBe('{"size":2,"kind":"flat"}');
    expect(await send('{"kind": ["inputs", "b"]}')).toBe('{"kind":["inputs","b"]}');
    const [rows, columns] = [new Array(40_000).fill('{"x": 7}'), new Array(40_000).fill("7")].map((list) => `${list}`);
    const answer = JSON.stringify({ x: new Array(40_000).fill(7) });
    expect(await send(`[${rows}]`)).toBe(answer);
    expect(await send(`{"x": [${columns}]}`)).toBe(answer);
    expect(await send(`x\n${"7\n".repeat(40_000)}`, { "content-type": "text/csv" })).toBe(answer);
    expect(await send('[{"x": 1}]', { ...JSON_TYPE, accept: "application/x-ndjson" })).toBe('{"x":[1]}\n');
  });

  test("takes instances that are all of a body for rows, of any size, and others for columns", async () => {
    const { httpUrl } = await startServer(ECHO);
    const send = async (body: string) => (await post(`${httpUrl}/predict`, body, JSON_TYPE)).text();
    expect(await send(' { "instances" : [[1, 2.5], [3, 4]] }\n')).toBe('{"inputs":[[1.0,2.5],[3.0,4.0]]}');
    expect(await send('{"instances": [{"x": "é]}"}, {"x": "b"}]}')).toBe('{"x":["é]}","b"]}');
    const many = `[${new Array(40_000).fill("[1, 2]")}]`;
    expect(await send(`{"instances": ${many}}`)).toBe(await send(many));
    for (const list of ["[1]", many])
      expect(Object.keys(JSON.parse(await send(`{"instances": ${list}, "x": [1]}`)))).toEqual(["instances", "x"]);
    expect(await send('{"instances": 1}')).toBe('{"instances":1}');
  });

  test("takes instances beside the name of a signature, as TensorFlow Serving's clients send them", async () => {
    const service = new ScriptedService();
    const { url } = await serveHttp(service);
    for (const body of [
      '{"signature_name": "a\\u00e9", "instances": [{"x": 1}]}',
      '{"instances": [{"x": 1}], "signature_name": "aé"}',
      `{"signature_name": "aé", "instances": [${new Array(30_000).fill('{"x": 1}')}]}`,
    ])
      expect((await post(`${url}/predict`, body)).status).toBe(200);
    await post(`${url}/predict/any/b`, '{"signature_name": "a", "instances": [{"x": 1}]}');
    expect(service.requests.map(({ signature }) => signature)).toEqual(["aé", "aé", "aé", "b"]);
    const columns = '{"signature_name": 1, "instances": [1]}';
    await post(`${url}/predict`, columns);
    const { inputs } = service.requests.at(-1) ?? {};
    expect(inputs?.kind === "tensors" && Object.keys(inputs.tensors)).toEqual(["signature_name", "instances"]);
  });

  test("says where in the body its JSON is malformed", async () => {
    const { httpUrl } = await startServer(ECHO);
    const many = new Array(40_000).fill("[1, 2]").join();
    for (const body of [
      '{"instances": [[1, 2], [3 4]]}',
      `{"instances": [${many}, [3 4]]}`,
      `[${many}, [3 4]]`,
      `{"x": [${many}, [3 4]]}`,
    ])
      expect(await errorOf(post(`${httpUrl}/predict`, body, JSON_TYPE))).toEqual([
        400,
        `JSON Parse error: Missing a comma or ']' after an array element. at offset: ${body.indexOf("4]]")}`,
      ]);
  });

  test("says of rows with names how those of a tensor are sent, and takes them so", async () => {
    const taking = (...inputs: TensorSpec[]) => ({
      driver: "null",
      hooks: { inputs, process: (given: Tensors) => given },
    });
    const of = (name: string, ...shape: number[]) => ({ name, dtype: "float32", shape }) as const;
    const models = {
      points: taking(of("x", -1, 2)),
      two: taking(of("x", -1), of("y", -1)),
      ages: taking(of("age", -1)),
    };
    const { httpUrl } = await startServer({ models });
    const send = (body: string, type: string, model = "points") =>
      post(`${httpUrl}/predict/${model}`, body, { "content-type": type });
    expect(await errorOf(send("a,b\n1,2\n", "text/csv"))).toEqual([
      400,
      expect.stringMatching(/^"x" is missing; .* only input is the tensor x; send the rows without a line of names\.$/),
    ]);
    expect(await errorOf(send('{"dataframe_records": [{"a": 1}]}', "application/json"))).toEqual([
      400,
      expect.stringContaining('only input is the tensor x; send the rows as lists: {"instances": [[…], …]}.'),
    ]);
    expect(await errorOf(send("c,d\n1,2\n", "text/csv", "two"))).toEqual([
      400,
      expect.not.stringContaining("only input"),
    ]);
    const split = '{"columns": ["a", "b"], "index": [0], "data": [[1, 2]]}';
    expect(await errorOf(send(split, "application/json"))).toEqual([
      400,
      expect.stringContaining('only input is the tensor x; send the rows as lists: {"instances": [[…], …]}.'),
    ]);
    expect(await (await send('{"instances": [[1, 2]]}', "application/json")).json()).toEqual({ x: [[1, 2]] });
    expect(await (await send("1,2\n3,4\n", "text/csv")).json()).toEqual({ x: [[1, 2], [3, 4]] }); // biome-ignore format: short
  });

  test.each([
    [
      "a misspelt column",
      "ages",
      "application/json",
      '{"dataframe_records": [{"agee": 1}]}',
      /^Row 1 has .* mean "age"\?$/,
    ],
    ["another column", "ages", "text/csv", "years\n1\n", /^"age" is missing; expected age\.$/],
    [
      "a column that comes twice",
      "ages",
      "text/csv",
      "age,age\n1,2\n",
      /^The column "age" comes twice; expected age once\.$/,
    ],
    [
      "a misspelt tensor",
      "points",
      "application/json",
      '{"dataframe_records": [{"xx": [1, 2]}]}',
      /^Row 1 .* mean "x"\?$/,
    ],
  ])("has one remedy for %s", async (_, model, type, body, message) => {
    const taking = (name: string, ...shape: number[]) => {
      const inputs = [{ name, dtype: "float32" as const, shape }];
      return { driver: "null", hooks: { inputs, process: (given: Tensors) => given } };
    };
    const { httpUrl } = await startServer({ models: { ages: taking("age", -1), points: taking("x", -1, 2) } });
    for (const path of [`/predict/${model}`, "/invocations"]) {
      const headers = { "content-type": type, "x-amzn-sagemaker-custom-attributes": `tfs-model-name=${model}` };
      const { error } = (await (await post(httpUrl + path, body, headers)).json()) as { error: string };
      if (path.startsWith("/predict")) expect(error).toMatch(message);
      expect(error).not.toContain("only input");
    }
  });

  test("hands signature and version of rows on", async () => {
    const service = new ScriptedService();
    const { url } = await serveHttp(service);
    await post(`${url}/predict/any/a%20b/7`, '[{"x": 1}]');
    await post(`${url}/predict/any/a%20b/7`, "x\n1\n", { "content-type": "text/csv" });
    await post(`${url}/predict`, '{"x": [1]}');
    expect(service.requests.map(({ signature, version }) => [signature, version])).toEqual([
      ["a b", 7n],
      ["a b", 7n],
      ["", undefined],
    ]);
  });

  test.each([
    ['{"input": {"x": {"dtype": 1, "data": 1}}}', /^"inputs" is missing or is not an object/],
    ["{}", /^"inputs" is missing or is not an object/],
    ["[]", /^There are no rows; expected one at least\.$/],
    ['[{"x": 1}, 2]', /^Row 2 has no names; expected an object with a value for each column/],
    ['[{"x": 1}, {"x": 2, "kind": 3}]', /^Row 2 has the column "kind"; expected x\.$/],
    ['[{"x": 1}', /^JSON Parse error/],
  ])("refuses %s", async (body, message) => {
    const { httpUrl } = await startServer(ECHO);
    expect(await errorOf(post(`${httpUrl}/predict`, body, JSON_TYPE))).toEqual([400, expect.stringMatching(message)]);
  });

  test("takes an encoded form, as curl -d sends fields", async () => {
    const { httpUrl } = await startServer(ECHO);
    const type = { "content-type": "application/x-www-form-urlencoded" };
    const send = async (body: string) => {
      const response = await post(`${httpUrl}/predict`, body, type);
      return [response.status, await response.json()];
    };
    const form = "float_x=1%2C2.5&float_x=3&strings_s=%C3%A9+a,b&raw_input=yes&out_filters=x,s";
    expect(await send(form)).toEqual([200, { x: [1, 2.5, 3], s: ["é a", "b"] }]);
    const large = `int8_x=${"7,".repeat(100_000)}7`;
    expect((await send(large))[0]).toBe(200);
    expect(await send("float_x=one")).toMatchObject([
      400,
      { error: 'Field "float_x" has the value "one"; expected float32.' },
    ]);
    expect(await send("float_x=1&".repeat(5000))).toMatchObject([
      400,
      { error: `The form has more than ${MAX_INPUTS} fields and files; send fewer.` },
    ]);
  });

  test("takes a form, and sends an output raw", async () => {
    const { httpUrl } = await startServer(ECHO);
    const image = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 251));
    const form = new FormData();
    form.append("byte_image", new Blob([image]), "photo.jpg");
    form.append("float_score", "0.5");
    form.append("raw_input", "yes");
    form.append("out_mime_type", "image/jpeg");
    form.append("out_filters", "image");
    const response = await post(`${httpUrl}/predict`, form);
    expect([
      response.status,
      response.headers.get("content-type"),
      response.headers.get("x-content-type-options"),
    ]).toEqual([200, "image/jpeg", "nosniff"]);
    expect(image.equals(Buffer.from(await response.arrayBuffer()))).toBe(true);
  });

  test("sends an image under the type that a hook chose", async () => {
    const hooks = defineHooks({
      process: (_inputs, ctx) => {
        ctx.response.contentType = "image/png";
        return { image: Buffer.of(0x89, 0x50) };
      },
    });
    const { httpUrl } = await startServer({ ...ECHO, hooks });
    const response = await post(`${httpUrl}/predict`, BODY);
    expect([response.headers.get("content-type"), [...new Uint8Array(await response.arrayBuffer())]]).toEqual([
      "image/png",
      [0x89, 0x50],
    ]);
  });

  test("refuses a media type that is none before anything runs", async () => {
    const service = new ScriptedService();
    const { url } = await serveHttp(service);
    expect(await errorOf(post(`${url}/predict`, '{"inputs": {}, "out_mime_type": "png"}'))).toEqual([
      400,
      'out_mime_type is "png"; expected a media type such as image/png or text/plain.',
    ]);
    expect(service.requests).toEqual([]);
  });

  test("says what cannot be sent raw", async () => {
    const { httpUrl } = await startServer(ECHO);
    const body = '{"inputs": {"x": {"dtype": 1, "data": [1]}}, "out_mime_type": "image/png"}';
    const [status, error] = await errorOf(post(`${httpUrl}/predict`, body));
    expect([status, error]).toEqual([400, expect.stringContaining("but there is x: float32 [1]")]);
  });

  test("refuses malformed JSON with the place, and the skip marker of hooks", async () => {
    const { httpUrl } = await startServer(ECHO);
    expect(await errorOf(post(`${httpUrl}/predict`, '{"inputs": {"x": [1,}'))).toEqual([
      400,
      "JSON Parse error: Invalid value. at offset: 20",
    ]);
    const marker = '{"inputs": {"ml-serving-ignore": {"dtype": 10, "data": true}}}';
    expect((await errorOf(post(`${httpUrl}/predict`, marker)))[0]).toBe(400);
  });

  test("has no other method", async () => {
    const { httpUrl } = await startServer(ECHO);
    for (const path of ["/predict", "/predict/m", "/serving-proxy"]) {
      const response = await fetch(httpUrl + path);
      expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
      expect(await response.json()).toEqual({ error: "GET is not possible here; send POST." });
    }
  });
});

/** A model whose output is its input, of this shape. */
function flattened(shape: readonly (number | string)[]): string {
  const graph = {
    name: "flattened",
    inputs: [{ name: "x", type: { elemType: "float32", shape } }],
    outputs: [{ name: "y", type: { elemType: "float32", shape: ["N", 6] } }],
    nodes: [{ op: "Flatten", inputs: ["x"], outputs: ["y"] }],
  } as const;
  return `${tempFolder({ "model.onnx": encodeModel({ opset: 17, graph }) })}/model.onnx`;
}

function identity(shape: readonly (number | string)[]): string {
  const type = { elemType: "float32", shape } as const;
  const graph = {
    name: "identity",
    inputs: [{ name: "x", type }],
    outputs: [{ name: "y", type }],
    nodes: [{ op: "Identity", inputs: ["x"], outputs: ["y"] }],
  } as const;
  return `${tempFolder({ "model.onnx": encodeModel({ opset: 17, graph }) })}/model.onnx`;
}

describe("the classes of scores", () => {
  test("stand beside them with their labels, the likeliest five of each row first", async () => {
    const options = { labels: "a,b,c,d,e,f" };
    const { httpUrl } = await startServer({ stages: [{ path: identity(["N", 6]), options }] });
    const send = async (body: string, headers: Record<string, string> = JSON_TYPE) =>
      (await post(`${httpUrl}/predict`, body, headers)).text();
    const classes = (order: string, row: readonly (number | null)[]) =>
      [...order].map((label) => ({ label, score: row["abcdef".indexOf(label)] }));
    const rows = [
      [0.5, 0, 0.25, 3, 1, 2],
      [0, 0, 0, 0, 0, 0],
    ];
    const expected = { y: rows, y_classes: [classes("dfeac", rows[0]!), classes("abcde", rows[1]!)] };
    expect(JSON.parse(await send(JSON.stringify(rows)))).toEqual(expected);
    const lines = { ...JSON_TYPE, accept: "application/x-ndjson" };
    expect(JSON.parse(await send(JSON.stringify(rows), lines))).toEqual(expected);
    const csv = await send("0,0,0,0,0,0\n", { "content-type": "text/csv" });
    expect(JSON.parse(csv)).toEqual({ y: [rows[1]], y_classes: [expected.y_classes[1]] });
    const inputs = { x: { dtype: "float32", data: rows } };
    for (const filter of [{}, { out_filter: ["y"] }])
      for (const type of [JSON_TYPE, lines])
        expect(JSON.parse(await send(JSON.stringify({ inputs, ...filter }), type))).toEqual({ y: rows });
    const paths = (await (await fetch(`${httpUrl}/docs/openapi.json`)).json()) as OpenApi;
    const { properties } = paths.paths["/predict/default"]!.post.responses[200].content["application/json"].schema;
    expect(Object.keys(properties).toSorted()).toEqual(["y", "y_classes"]);
  });

  test("stand beside those of a photo whose field names no type, and not in the original's form", async () => {
    const path = flattened(["N", 3, 1, 2]);
    const { httpUrl } = await startServer({ stages: [{ path, options: { labels: "a,b,c,d,e,f" } }] });
    const photo = await sharp(Buffer.from([1, 2, 3, 4, 5, 6]), { raw: { width: 2, height: 1, channels: 3 } })
      .png()
      .toBuffer();
    // The planes of a colour photo are blue, green and red.
    const send = async (field: string, headers: Record<string, string> = {}) => {
      const form = new FormData();
      form.append(field, new Blob([photo]), "photo.png");
      return JSON.parse(await (await post(`${httpUrl}/predict`, form, headers)).text());
    };
    const classes = [
      { label: "b", score: 6 },
      { label: "d", score: 5 },
    ];
    const { y, y_classes: named } = await send("x");
    expect([y, named[0].slice(0, 2)]).toEqual([[[3, 6, 2, 5, 1, 4]], classes]);
    expect((await send("x", { accept: "application/x-ndjson" })).y_classes).toEqual([named[0]]);
    expect(await send("byte_x")).toEqual({ y });
  });

  test("are those of up to 1024 rows, and a thread looks for them in large answers", async () => {
    const wide = Array.from({ length: 300 }, (_, index) => `c${index}`);
    const stages = (columns: number, labels: string) => {
      return [{ path: identity(["N", columns]), options: { labels } }];
    };
    const models = { six: { stages: stages(6, "a,b,c,d,e,f") }, wide: { stages: stages(300, wide.join(",")) } };
    const { httpUrl } = await startServer({ models });
    const send = async (model: string, rows: number, row: readonly number[]) => {
      const body = `[${new Array(rows).fill(JSON.stringify(row)).join(",")}]`;
      const { y, y_classes: named } = JSON.parse(await (await post(`${httpUrl}/predict/${model}`, body)).text());
      return [y.length, named?.length, named?.at(-1)[0]];
    };
    const six = [0, 1, 2, 3, 4, 9];
    expect(await send("six", 1024, six)).toEqual([1024, 1024, { label: "f", score: 9 }]);
    expect(await send("six", 1025, six)).toEqual([1025, undefined, undefined]);
    expect(await send("six", 300_000, six)).toEqual([300_000, undefined, undefined]);
    // More elements than one thread writes of an answer without classes.
    const last = wide.map((_, index) => Number(index === 299));
    expect(await send("wide", 1000, last)).toEqual([1000, 1000, { label: "c299", score: 1 }]);
  });

  test("are left out where the scores have another number of columns, or an output has their name", () => {
    const scores = createTensor("float32", [1, 2], Float32Array.of(1, 2));
    const named = (labels: readonly string[], ...outputs: [string, Tensor][]): NamedOutputs =>
      withLabels(outputs, [{ name: "y", dtype: "float32", labels }]);
    const written = (...all: Parameters<typeof named>) =>
      JSON.parse(Buffer.from(writeOutputs(named(...all))).toString());
    const labels = ["a", "b"];
    expect(written(["a", "b", "c"], ["y", scores])).toEqual({ y: [[1, 2]] });
    expect(written(labels, ["y", scores], ["y_classes", scores])).toEqual({ y: [[1, 2]], y_classes: [[1, 2]] });
    const row = createTensor("float32", [2], Float32Array.of(1, 2));
    const [a, b] = [
      { label: "a", score: 1 },
      { label: "b", score: 2 },
    ];
    expect(written(labels, ["y", row])).toEqual({ y: [1, 2], y_classes: [b, a] });
    const unknown = createTensor("float32", [2], Float32Array.of(1, Number.NaN));
    expect(written(labels, ["y", unknown]).y_classes).toEqual([{ label: "b", score: null }, a]);
    const nothing = createTensor("float32", [0, 2], new Float32Array());
    expect(written(labels, ["y", nothing])).toEqual({ y: [], y_classes: [] });
    const long = labels.map((label) => label.repeat(20_000));
    expect([labels, long].map((each) => isLargeOutputs(named(each, ["y", scores])))).toEqual([false, true]);
  });
});

interface OpenApi {
  readonly paths: Readonly<Record<string, { readonly post: { readonly responses: { readonly 200: Described } } }>>;
}
interface Described {
  readonly content: { readonly "application/json": { readonly schema: { readonly properties: object } } };
}

describe("a file of a form for an input of images", () => {
  test.each(["x", "byte_x", "string_x", "bytes_x"])("is one as %s", async (field) => {
    const { httpUrl } = await startServer({ stages: [{ path: identity(["N", 1, 1, 3]) }] });
    const png = await sharp({ create: { width: 1, height: 1, channels: 3, background: "#0a14fa" } })
      .png()
      .toBuffer();
    const form = new FormData();
    form.append(field, new Blob([new Uint8Array(png)]), "photo.png");
    const response = await post(`${httpUrl}/predict`, form);
    expect([response.status, await response.json()]).toEqual([200, { y: [[[[250, 20, 10]]]] }]);
  });
});

test("a single text has the dimension of an input that takes several, and none where the input has none", async () => {
  const hooks = defineHooks({
    inputs: [
      { name: "list", dtype: "bytes", shape: [-1] },
      { name: "one", dtype: "bytes", shape: [] },
      { name: "any", dtype: "bytes" },
    ],
    process: (inputs) => Object.fromEntries(Object.entries(inputs).map(([name, { shape }]) => [name, shape.length])),
  });
  const { httpUrl } = await startServer({ ...ECHO, hooks });
  const names = ["list", "one", "any"];
  const form = new FormData();
  for (const name of names) form.append(`byte_${name}`, new Blob(["text"]), "text.txt");
  const inputs = Object.fromEntries(names.map((name) => [name, { dtype: "string", data: "a text" }]));
  const answers = [post(`${httpUrl}/predict`, form), post(`${httpUrl}/predict`, JSON.stringify({ inputs }), JSON_TYPE)];
  const ranks = { list: 1, one: 0, any: 0 };
  expect(await Promise.all(answers.map(async (each) => (await each).json()))).toEqual([ranks, ranks]);
});

test("a tensor of 254 dimensions comes back from both protocols, one of 255 does not", async () => {
  const { httpUrl } = await startServer({ ...ECHO, hooks: defineHooks({ preprocess: (inputs) => inputs }) });
  const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  const predict = (data: string) => post(`${httpUrl}/predict`, `{"inputs":{"x":{"dtype":1,"data":${data}}}}`);
  const column = (data: string) => post(`${httpUrl}/v1/models/default:predict`, `{"inputs":${data}}`);
  expect(await (await predict(nested(254))).text()).toBe(`{"x":${nested(254)}}`);
  expect(await (await column(nested(254))).json()).toEqual({ outputs: JSON.parse(nested(254)) });
  expect([(await predict(nested(255))).status, (await column(nested(255))).status]).toEqual([400, 400]);
});

describe("POST /serving-proxy", () => {
  test("hands the body to the hooks as it is, and their answer back", async () => {
    const service = new ScriptedService((request) => ({
      model: "m",
      version: 1n,
      signature: "",
      metadata: { "x-hook": "1" },
      outputs: {
        kind: "json",
        json: Buffer.from(` {"echo":${Buffer.from((request.inputs as { json: Uint8Array }).json)}}\n`),
      },
    }));
    const { url } = await serveHttp(service);
    const response = await post(`${url}/serving-proxy`, '{ "a":  [1.0] }');
    expect(await response.text()).toBe(' {"echo":{ "a":  [1.0] }}\n');
    expect([response.headers.get("content-type"), response.headers.get("x-hook")]).toEqual(["application/json", "1"]);
    expect(service.requests[0]).toMatchObject({ model: "", signature: "" });
  });

  test.each([
    `{"a":{"dtype":"float32","shape":[5],"data":[1]}}`,
    `{"a":{"dtype":"bytes","shape":[0,3],"data":[]}}`,
    `{"a":{"dtype":"bytes","shape":[1000000000,0],"data":[]}}`,
    `{"__proto__":{"x":1},"constructor":1,"":2}`,
  ])("gives back what resembles something else as it was: %s", async (text) => {
    const { httpUrl } = await startServer(ECHO);
    const response = await post(`${httpUrl}/serving-proxy`, text);
    expect([response.status, await response.text()]).toEqual([200, text]);
  });

  test("refuses a name of 5 MB in few words", async () => {
    const { httpUrl } = await startServer({ stages: [{ path: "test/fixtures/models/half-plus-two.onnx" }] });
    const [status, message] = await errorOf(post(`${httpUrl}/serving-proxy`, `{"${"a".repeat(5_000_000)}":1}`));
    expect([status, message]).toEqual([400, expect.stringMatching(/^The message has more than .{100,200}$/)]);
  });

  test("gives hooks plain values", async () => {
    const hooks = defineHooks({
      process: (inputs) => {
        const { n } = inputs as unknown as { n: number };
        return { twice: 2 * n, list: [{ a: 1 }] };
      },
    });
    const { httpUrl } = await startServer({ ...ECHO, hooks });
    expect(await (await post(`${httpUrl}/serving-proxy/`, '{"n": 21}')).json()).toEqual({
      twice: 42,
      list: [{ a: 1 }],
    });
  });

  test("refuses an empty body, and one that is no JSON object", async () => {
    const { httpUrl } = await startServer(ECHO);
    expect(await errorOf(post(`${httpUrl}/serving-proxy`, ""))).toEqual([
      400,
      "The body is empty; expected a JSON object with an input under each name.",
    ]);
    expect((await errorOf(post(`${httpUrl}/serving-proxy`, "{")))[0]).toBe(400);
    expect((await errorOf(post(`${httpUrl}/serving-proxy`, "[]")))[0]).toBe(400);
  });
});

test("PredictJSON runs a model that takes texts with these, or with tokens, by the names of its members", async () => {
  const config = { architectures: ["BertModel"], model_type: "bert", hidden_size: 2 };
  const model = toyEncoder({ table: tableOf({ good: [3, 0], bad: [0, 4] }) });
  const folder = tempFolder({ ...toyTokenizer(), "config.json": JSON.stringify(config), "model.onnx": model });
  const { httpUrl } = await startServer({ stages: [{ path: `${folder}/model.onnx` }] });
  const post = async (body: object | string) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return JSON.parse(await (await fetch(`${httpUrl}/serving-proxy`, { method: "POST", body: text })).text());
  };
  expect(Object.keys(await post({ text: ["good"] }))).toEqual(["embedding"]);
  const ids = { input_ids: [[2, 4, 3]], attention_mask: [[1, 1, 1]] };
  expect(Object.keys(await post(ids))).toEqual(["last_hidden_state"]);
  const [tokens, ones] = [4, 1].map((value) => [new Array(20_000).fill(value)]);
  expect(Object.keys(await post({ input_ids: tokens, attention_mask: ones }))).toEqual(["last_hidden_state"]);
  expect((await post({ 'text\\"': '{"input_ids": [', text: ["good"] })).error).toContain("text");
  for (const broken of ['{"text', '{"text": [', '}{"input_ids"']) expect((await post(broken)).error).toBeDefined();
});
