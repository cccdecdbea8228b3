import { afterAll, describe, expect, it } from "vitest";
import { createServer } from "../../../src/index.ts";
import { writeNpy } from "../../../src/tensor/codecs/npy.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";

const MODEL = (name: string) => `test/fixtures/models/${name}.onnx`;

const POINTS = [{ name: "x", dtype: "float32", shape: [-1, 2] }] as const;

const server = await createServer({
  http: {},
  models: {
    half: { driver: "onnx", path: MODEL("half-plus-two") },
    echo: { driver: "null" },
    flow: { path: "test/fixtures/mlflow/half" },
    two: { driver: "onnx", path: MODEL("add-two-inputs") },
    points: { driver: "null", hooks: { inputs: POINTS, process: (given) => given } },
  },
});

afterAll(() => server.close());

async function invoke(body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) {
  const answer = await fetch(`${server.httpUrl}/invocations`, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", ...headers },
  });
  const bytes = Buffer.from(await answer.arrayBuffer());
  return { status: answer.status, type: answer.headers.get("content-type"), bytes, text: bytes.toString() };
}

/** A file of NumPy. */
function npy(dtype: "float32" | "float64" | "int32", shape: number[], data: Float32Array | Float64Array | Int32Array) {
  return Uint8Array.from(writeNpy(createTensor(dtype, shape, data as never)));
}

const predictions = (text: string) => (JSON.parse(text) as { predictions: unknown }).predictions;
const of = (model: string, more = "") => ({ "x-amzn-sagemaker-custom-attributes": `tfs-model-name=${model}${more}` });

describe("/ping", () => {
  it("is 200 without a body while the server is ready", async () => {
    const answer = await fetch(`${server.httpUrl}/ping`);
    expect([answer.status, await answer.text()]).toEqual([200, ""]);
  });
});

describe("/invocations", () => {
  it.each([
    ["application/json", '{"instances":[1,2]}'],
    ["application/json; charset=utf-8", '{"inputs":[1,2]}'],
    ["application/jsonlines", "1\n2\n"],
    ["application/jsons", "1\n\n2"],
    ["text/csv", "1\r\n2\r\n"],
  ])("takes %s", async (type, body) => {
    const { status, text } = await invoke(body, { "content-type": type });
    const { predictions, outputs = predictions } = JSON.parse(text) as { predictions?: unknown; outputs?: unknown };
    expect([status, outputs]).toEqual([200, [2.5, 3]]);
  });

  it.each(["half", "flow"])("takes MLflow's data frames for the model %s, and answers with rows", async (model) => {
    const split = { dataframe_split: { columns: ["x"], data: [[1], [2]] } };
    const records = { dataframe_records: [{ x: 1 }, { x: 2 }] };
    for (const frame of [split, records])
      expect(JSON.parse((await invoke(JSON.stringify(frame), of(model))).text)).toEqual({ predictions: [2.5, 3] });
  });

  it.each([{ dataframe_split: { columns: ["a"], data: [[1]] } }, { dataframe_records: [{ a: 1 }] }])(
    "says of the frame %j how rows of a tensor are sent",
    async (frame) => {
      const { status, text } = await invoke(JSON.stringify(frame), of("points"));
      expect([status, text]).toEqual([
        400,
        expect.stringContaining("The model's only input is the tensor x; send the"),
      ]);
      const two = await invoke(JSON.stringify(frame), of("two"));
      expect([two.status, two.text]).toEqual([400, expect.not.stringContaining("only input")]);
    },
  );

  it("says of CSV with a line of names how rows of a tensor are sent", async () => {
    expect(await invoke("a,b\n1,2\n", { "content-type": "text/csv", ...of("points") })).toMatchObject({
      status: 400,
      text: expect.stringContaining("only input is the tensor x; send the rows without a line of names."),
    });
  });

  it("answers without line breaks, in the type that is accepted first", async () => {
    const { type, text } = await invoke("1", { accept: "text/html, application/jsonlines" });
    expect([type, text.includes("\n")]).toEqual(["application/jsonlines", false]);
    expect(predictions(text)).toEqual([2.5]);
  });

  it.each(["[[1, 2], [3 4]]", "[1 4]", '{"x": [1 4]}', '{"instances": [[3 4]]}'])(
    "says where %s is malformed",
    async (body) => {
      const { status, text } = await invoke(body);
      expect([status, text]).toEqual([400, expect.stringContaining(`at offset: ${body.indexOf("4]")}"`)]);
    },
  );

  it("takes many rows, which a codec thread turns into JSON", async () => {
    const body = Array.from({ length: 30_000 }, (_, row) => `${row}\n`).join("");
    const { text } = await invoke(body, { "content-type": "text/csv", accept: "application/json" });
    expect((predictions(text) as number[]).slice(-1)).toEqual([29_999 / 2 + 2]);
    expect(text).not.toContain("\n");
  });

  it("takes many lines of JSON, of which a broken one is named", async () => {
    const lines = Array.from({ length: 30_000 }, (_, row) => String(row));
    const type = { "content-type": "application/jsonlines" };
    const { text } = await invoke(lines.join("\n"), type);
    expect((predictions(text) as number[]).at(-1)).toBe(29_999 / 2 + 2);
    for (const method of ["predict", "classify"]) {
      const broken = await invoke(lines.with(20_000, "1 2").join("\n"), {
        ...type,
        ...of("half", `,tfs-method=${method}`),
      });
      expect([broken.status, broken.text]).toEqual([
        400,
        expect.stringContaining("Line 20001 of the body is not JSON: "),
      ]);
    }
  });

  it("takes an array of NumPy", async () => {
    const body = npy("float32", [2], Float32Array.of(1, 2));
    const { text } = await invoke(body, { "content-type": "application/x-npy" });
    expect((predictions(text) as unknown[]).flat()).toEqual([2.5, 3]);
  });

  it("answers with an array of NumPy", async () => {
    const body = npy("float64", [2, 2], Float64Array.of(1, 2, 3.5, Number.NaN));
    const headers = { "content-type": "application/x-npy", accept: "application/x-npy", ...of("echo") };
    const { type, bytes } = await invoke(body, headers);
    expect([type, bytes]).toEqual(["application/x-npy", Buffer.from(body)]);
  });

  it.each([
    ["a line for each row", npy("float64", [2, 2], Float64Array.of(1, 2, 3.5, Number.NaN)), "1.0,2.0\n3.5,NaN\n"],
    ["all dimensions of a row in its line", npy("int32", [1, 2, 2], Int32Array.of(1, 2, 3, 4)), "1,2,3,4\n"],
    ["nothing for no rows", npy("int32", [0, 2], new Int32Array(0)), ""],
    ["the value of rank 0", '{"inputs": 7}', "7\n"],
    ["quotes where a text needs them", '{"inputs": [["a", "b,c"], ["d\\"e", "f"]]}', 'a,"b,c"\n"d""e",f\n'],
  ])("answers with CSV: %s", async (_, body, expected) => {
    const type = typeof body === "string" ? "application/json" : "application/x-npy";
    const answer = await invoke(body, { "content-type": type, accept: "text/csv", ...of("echo") });
    expect([answer.type, answer.text]).toEqual(["text/csv", expected]);
  });

  it("answers many rows with CSV, which a codec thread writes", async () => {
    const body = Array.from({ length: 30_000 }, (_, row) => `${row}\n`).join("");
    const { text } = await invoke(body, { "content-type": "text/csv", accept: "text/csv" });
    expect(text.split("\n").slice(-2)).toEqual([(29_999 / 2 + 2).toFixed(1), ""]);
  });

  it("answers with JSON where the client names that and another type", async () => {
    const { type, text } = await invoke("1", { accept: "text/csv, application/json" });
    expect([type, predictions(text)]).toEqual(["application/json", [2.5]]);
  });

  it.each(["application/x-image", "image/png", "application/octet-stream"])(
    "takes %s for a model's only input",
    async (type) => {
      const { status, text } = await invoke("bytes", { "content-type": type, ...of("echo") });
      expect([status, predictions(text)]).toEqual([200, ["bytes"]]);
    },
  );

  it("asks the model, version and method that the custom attributes name", async () => {
    const asked = await invoke('{"inputs":{"a":[1],"b":[2]}}', of("two", ",tfs-model-version=1"));
    expect([asked.status, JSON.parse(asked.text)]).toEqual([200, { outputs: expect.anything() }]);
    expect((await invoke("1", of("half", ",tfs-model-version=7"))).status).toBe(404);
  });

  it.each([
    ["another type", "x", { "content-type": "text/html" }, 415, "Unsupported Media Type: text/html"],
    ["an answer of another type", "1", { accept: "image/png" }, 406, "Not Acceptable: image/png"],
    [
      "classes as an array",
      "1",
      { accept: "text/csv", ...of("half", ",tfs-method=classify") },
      406,
      "text/csv; answers",
    ],
    [
      "a broken line",
      "[1]\n[2\n[3]",
      { "content-type": "application/jsonlines" },
      400,
      "Line 2 of the body is not JSON",
    ],
    ["ragged rows", "1,2\n3", { "content-type": "text/csv" }, 400, "Line 2 of the CSV has 1 columns"],
    ["several inputs for one array", "x", { "content-type": "image/png", ...of("two") }, 400, "the model takes 2"],
    ["an unknown method", "1", of("half", ",tfs-method=train"), 400, 'tfs-method is "train"; expected predict'],
    ["a version that is not a number", "1", of("half", ",tfs-model-version=new"), 400, 'tfs-model-version is "new"'],
    ["an unknown model", "1", of("none"), 404, "none"],
  ])("refuses %s", async (_, body, headers, status, message) => {
    const answer = await invoke(body, headers as Record<string, string>);
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(message.replaceAll('"', '\\"'))]);
  });
});
