import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { readInputs } from "../../../src/cli/commands/input-flags.ts";
import { readNpy, writeNpy } from "../../../src/tensor/codecs/npy.ts";
import { decodeImage } from "../../../src/tensor/media/decode-image.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { missingPython, PYTHON } from "../../helpers/missing-python.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { tableOf, toyEncoder, toyTokenizer } from "../../helpers/text-model.ts";
import { startKserving } from "../start-kserving.ts";
import { runCommand } from "./run-command.ts";

const model = (name: string) => fileURLToPath(new URL(`../../fixtures/models/${name}`, import.meta.url));
const half = model("half-plus-two.onnx");

/** The outputs of one run as JSON. */
async function infer(...args: string[]) {
  const { code, stdout, stderr } = await runCommand(["infer", ...args, "--json"]);
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
}

const [REQUEST, BY_NAME] = [
  { inputs: [{ name: "x", datatype: "FP32", shape: [2], data: [1, 2.5] }] },
  { inputs: { x: [1, 2.5] } },
];
const FILES = {
  "x.json": "[1, 2.5]",
  "v2.json": JSON.stringify(REQUEST),
  "named.json": JSON.stringify(BY_NAME),
  "x.csv": "1\n2.5\n",
  "gaps.csv": "1,\n-inf,2\n,nan\n",
  "gap.csv": "1\nnan\n",
  "n.csv": '"n"\n"0"\n""\n2.5\n',
  "n.json": '[{"n":0},{"n":null},{"n":2.5}]',
  "rows.csv": "city,age\nRome,30.5\n,\n",
  "broken.parquet": "PAR1 and nothing else",
  "labels.txt": "cat\ndog\nbird\n",
  "pixels.mjs": `export default { postprocess: () => ({ image: { dtype: "float32", shape: [1, 1, 2, 3], data: new Float32Array([0, 0, 0, 1, 1, 1]) }, other: 1 }) };`,
  "scores.mjs": `export default { postprocess: () => ({ scores: { dtype: "float32", shape: [2, 3], data: new Float32Array([0.1, 0.7, 0.2, 9, 8, 10]) } }) };`,
};
const folder = mkdtempSync(join(tmpdir(), "kserving-infer-"));
for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);

test.each([
  ["a JSON value", "x=[1,2.5]"],
  ["numbers with commas between them", "x=1,2.5"],
  ["a .json file", `x=@${at("x.json")}`],
  ["a .csv file", `x=@${at("x.csv")}`],
  ["a file for the only input", `@${at("x.json")}`],
  ["a request of KServe V2", `@${at("v2.json")}`],
  ["a file with inputs by name", `@${at("named.json")}`],
])("%s is a value of an input", async (_, input) => {
  const signature = { inputs: [{ name: "x", dtype: "float32" }] } as const;
  expect({ ...(await readInputs([input], signature)) }).toEqual({ x: [1, 2.5] });
});

test.each([
  ["CSV with a line of names", `@${at("rows.csv")}`],
  ["a list of objects", '[{"city":"Rome","age":30.5},{"city":null,"age":null}]'],
  ["columns", '{"city":["Rome",null],"age":[30.5,null]}'],
  ["a list of rows in the order of the columns", '[[30.5,"Rome"],[null,null]]'],
])("%s is the rows of a model of tables", async (_, input) => {
  const column = { shape: [-1] } as const;
  const columns = [
    { name: "age", dtype: "float64", ...column },
    { name: "city", dtype: "bytes", ...column },
  ] as const;
  // As it is here, and as a server tells of it.
  for (const signature of [{ isTabular: true, suggestedInputs: columns }, { inputs: columns }] as const) {
    const { age, city, ...others } = await readInputs([input], signature);
    expect(age).toEqual(createTensor("float64", [2], Float64Array.of(30.5, Number.NaN)));
    expect(city).toMatchObject({ dtype: "bytes", data: [Buffer.from("Rome"), Uint8Array.of(0xff)].map(toBytes) });
    expect(others).toEqual({});
  }
});

test("an empty field of CSV is NaN among the numbers of an input, and infinity is a number too", async () => {
  const { x } = await readInputs([`x=@${at("gaps.csv")}`]);
  expect(x).toEqual([
    [1, Number.NaN],
    [Number.NEGATIVE_INFINITY, 2],
    [Number.NaN, Number.NaN],
  ]);
  const { x: only } = await readInputs([`@${at("gap.csv")}`], {
    inputs: [{ name: "x", dtype: "float32", shape: [-1] }],
  });
  expect(only).toEqual([1, Number.NaN]);
  const { code, stdout } = await runCommand(["infer", half, "--input", `@${at("gap.csv")}`, "--json"]);
  expect([code, stdout]).toEqual([0, '{"y":{"dtype":"float32","shape":[2],"data":[2.5,NaN]}}\n']);
});

test("the rows of a table with one column are told from other values by its name", async () => {
  const signature = { inputs: [{ name: "n", dtype: "float64", shape: [-1] }] } as const;
  const rows = { n: createTensor("float64", [3], Float64Array.of(0, Number.NaN, 2.5)) };
  for (const flag of [`@${at("n.csv")}`, `@${at("n.json")}`, FILES["n.json"]])
    expect({ ...(await readInputs([flag], signature)) }).toEqual(rows);
  for (const flag of [`@${at("x.csv")}`, `@${at("x.json")}`, "[1,2.5]"])
    expect({ ...(await readInputs([flag], signature)) }).toEqual({ n: [1, 2.5] });
  await expect(readInputs(['[{"n":1},{}]'], signature)).rejects.toThrow('Row 2 has no value for the column "n"');
});

test("a row of a table with too few values is refused, with the columns", async () => {
  const inputs = [
    { name: "age", dtype: "float64", shape: [-1] },
    { name: "city", dtype: "bytes", shape: [-1] },
  ] as const;
  await expect(readInputs(["[[30.5]]"], { inputs })).rejects.toThrow(
    "--input has a row of 1 values; the model has 2 columns, age, city.",
  );
});

const toBytes = (bytes: Uint8Array) => Uint8Array.from(bytes);

const hasArrow = missingPython("Parquet", "pyarrow") === undefined;
const MAKE_PARQUET = `
import sys, pyarrow, pyarrow.parquet
table = pyarrow.table({"city": ["Rome", None, "nan", 'a "b",\\nc'], "age": [30.5, None, 0.1, 7.0]})
pyarrow.parquet.write_table(table, sys.argv[1])
pyarrow.parquet.write_table(pyarrow.table({"x": [1.0, 2.5]}), sys.argv[2])
pyarrow.parquet.write_table(pyarrow.table({"n": [1.0, None]}), sys.argv[3])`;

test.runIf(hasArrow)(
  "Parquet has the rows of a model of tables, with missing values and texts of any kind, or values",
  async () => {
    const [rows, values] = [at("rows.parquet"), at("x.parquet")];
    execFileSync(PYTHON, ["-c", MAKE_PARQUET, rows, values, at("n.parquet")]);
    const options = [`python=${PYTHON}`];
    const column = { shape: [-1] } as const;
    const columns = [
      { name: "age", dtype: "float64", ...column },
      { name: "city", dtype: "bytes", ...column },
    ] as const;
    const { age, city } = await readInputs([`@${rows}`], { isTabular: true, suggestedInputs: columns }, options);
    expect(age).toEqual(createTensor("float64", [4], Float64Array.of(30.5, Number.NaN, 0.1, 7)));
    const texts = [Buffer.from("Rome"), Uint8Array.of(0xff), Buffer.from("nan"), Buffer.from('a "b",\nc')];
    expect(city).toMatchObject({ dtype: "bytes", data: texts.map(toBytes) });
    expect({ ...(await readInputs([`x=@${values}`], {}, options)) }).toEqual({ x: [1, 2.5] });
    const one = { inputs: [{ name: "n", dtype: "float32", shape: [-1] }] } as const;
    expect({ ...(await readInputs([`@${at("n.parquet")}`], one, options)) }).toEqual({ n: [1, Number.NaN] });
    const broken = readInputs([`x=@${at("broken.parquet")}`], {}, options);
    await expect(broken).rejects.toThrow(/broken\.parquet" is no Parquet that pyarrow reads: .*[Pp]arquet/);
  },
);

test("Parquet without pyarrow says what to install, and without a file that there is none", async () => {
  const none = readInputs([`x=@${at("broken.parquet")}`], {}, ["python=/no/python"]);
  await expect(none).rejects.toMatchObject({
    code: "failed_precondition",
    message: expect.stringMatching(/which \/no\/python does not have; .*\(pip install pyarrow\)/),
  });
  await expect(readInputs([`x=@${at("none.parquet")}`])).rejects.toThrow("does not exist");
});

test("infer runs a model on values, and prints JSON", async () => {
  const y = { dtype: "float32", shape: [2], data: [2.5, 3.25] };
  expect(await infer(half, "--input", "x=[1,2.5]")).toEqual({ y });
});

test("infer reads and writes NumPy's files", async () => {
  const [path, out] = [at("x.npy"), at("y.npy")];
  writeFileSync(path, writeNpy(createTensor("float32", [1], new Float32Array([4]))));
  expect((await runCommand(["infer", half, "--input", `x=@${path}`, "--out", out])).code).toBe(0);
  expect(readNpy(readFileSync(out))).toEqual(createTensor("float32", [1], new Float32Array([4])));
});

test("infer shows values, and the largest of each row with their labels", async () => {
  expect((await runCommand(["infer", half, "--input", "x=[1,2.5]"])).stdout).toBe("y float32[2]\n  [2.5, 3.25]\n");
  const flags = ["--driver", "null", "--hooks", at("scores.mjs"), "--input", "x=1", "--top", "2"];
  const { stdout } = await runCommand(["infer", at("labels.txt"), ...flags, "--labels", at("labels.txt")]);
  expect(stdout).toBe("scores float32[2,3]\n  0:  1  dog   0.7\n  2  bird  0.2\n  1:  2  bird  10\n  0  cat   9\n");
});

test("infer shows texts as they are", async () => {
  const flags = ["--driver", "null", "--input", 'x=["a,b","5",""]'];
  expect((await runCommand(["infer", at("labels.txt"), ...flags])).stdout).toBe('x bytes[3]\n  ["a,b", "5", ""]\n');
});

test("infer writes an output as a picture", async () => {
  const out = at("out.png");
  const flags = ["--driver", "null", "--hooks", at("pixels.mjs"), "--input", "x=1", "--out", out];
  const refused = await runCommand(["infer", at("labels.txt"), ...flags]);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("choose with --output NAME")]);
  expect((await runCommand(["infer", at("labels.txt"), ...flags, "--output", "image"])).code).toBe(0);
  expect((await decodeImage(readFileSync(out))).data).toEqual(new Uint8Array([0, 0, 0, 255, 255, 255]));
});

test("infer takes random values of sizes on which the model runs, the same for the same seed", async () => {
  const one = await infer(model("matmul-dynamic-batch.onnx"), "--random", "--seed", "7");
  expect(await infer(model("matmul-dynamic-batch.onnx"), "--random", "--seed", "7")).toEqual(one);
  expect(await infer(model("matmul-dynamic-batch.onnx"), "--random", "--seed", "8")).not.toEqual(one);
});

test("infer runs a model of a server, over HTTP and gRPC", async () => {
  const { httpUrl, grpcAddress } = await startServer({ models: { half: { path: half } } });
  const y = { dtype: "float32", shape: [2], data: [2.5, 3.25] };
  for (const address of [`${httpUrl}/v2/models/half`, `grpc://${grpcAddress}/half`]) {
    expect(await infer(address, "--input", "x=[1,2.5]")).toEqual({ y });
    expect(Object.keys(await infer(address, "--random", "--output", "y"))).toEqual(["y"]);
    for (const [flags, code, message] of [
      [[], 2, "The model is x float32[?] → y float32[?]."],
      [["--input", "z=[1]"], 2, "kserving: unexpected inference input 'z'"],
      [["--random", "--driver", "onnx"], 2, "are for a model that is loaded here"],
    ] as const)
      expect(await runCommand(["infer", address, ...flags])).toMatchObject({
        code,
        stderr: expect.stringContaining(message),
      });
  }
});

/** Counts up; a file says how often it has ended. */
const COUNTING = `
import { appendFileSync } from "node:fs";
export const inputs = [{ name: "to", dtype: "int32", shape: [1] }];
export async function* process({ to }, ctx) {
  try {
    for (let value = 0; value < to.data[0]; value++) {
      if (value === 3 && to.data[0] === 4) throw new Error("there is no fourth");
      yield { value: Int32Array.of(value) };
      await new Promise(setImmediate);
    }
  } finally {
    appendFileSync(LOG, "ended\\n");
  }
}
`;

/** A model that counts up, of a server and from its file. */
async function startCounting() {
  const log = join(mkdtempSync(join(folder, "log-")), "log");
  const hooks = join(mkdtempSync(join(folder, "hooks-")), "hooks.mjs");
  writeFileSync(hooks, COUNTING.replace("LOG", JSON.stringify(log)));
  const { httpUrl, grpcAddress } = await startServer({ models: { count: { driver: "null", hooks } } });
  const places = [
    [`${httpUrl}/v2/models/count`],
    [`grpc://${grpcAddress}/count`],
    [at("labels.txt"), "--driver", "null", "--hooks", hooks],
  ];
  return { places, log };
}

test("infer shows each part of an answer, and the error after them, from here and from a server", async () => {
  const { places } = await startCounting();
  const line = (value: number) => `{"value":{"dtype":"int32","shape":[1],"data":[${value}]}}\n`;
  for (const place of places) {
    const [lines, table, failed] = [
      await runCommand(["infer", ...place, "--input", "to=[2]", "--stream", "--json"]),
      await runCommand(["infer", ...place, "--input", "to=[1]", "--stream"]),
      await runCommand(["infer", ...place, "--input", "to=[4]", "--stream", "--json"]),
    ];
    expect(lines).toEqual({ code: 0, stderr: "", stdout: line(0) + line(1) });
    expect(table).toEqual({ code: 0, stderr: "", stdout: "value int32[1]\n  [0]\n" });
    expect([failed.code, failed.stdout]).toEqual([1, line(0) + line(1) + line(2)]);
    expect(failed.stderr).toContain("there is no fourth");
  }
  const once = await runCommand(["infer", half, "--input", "x=[1]", "--stream", "--json"]);
  expect(once.stdout).toBe('{"y":{"dtype":"float32","shape":[1],"data":[2.5]}}\n');
});

test("infer --stream gives the request up where it is interrupted", { timeout: 60_000 }, async () => {
  const { places, log } = await startCounting();
  for (const [count, place] of places.entries()) {
    const program = startKserving(["infer", ...place, "--input", "to=[1000000000]", "--stream", "--json"]);
    await program.output(/"data":\[5\]/);
    program.kill("SIGINT");
    const { signal, stderr } = await program.ended();
    expect([signal, stderr]).toEqual(["SIGINT", "kserving: interrupted; the request was given up.\n"]);
    await expect.poll(() => readFileSync(log, "utf8")).toBe("ended\n".repeat(count + 1));
  }
});

test("infer --stream gives the request up once nobody reads its output", { timeout: 60_000 }, async () => {
  const { places, log } = await startCounting();
  for (const [count, place] of places.entries()) {
    const program = startKserving(["infer", ...place, "--input", "to=[1000000000]", "--stream", "--json"]);
    await program.output(/"data":\[5\]/);
    program.stopReading();
    expect(await program.ended()).toMatchObject({ code: 0, signal: null, stderr: "" });
    await expect.poll(() => readFileSync(log, "utf8")).toBe("ended\n".repeat(count + 1));
  }
});

test.each([
  [
    [half],
    2,
    "No input is given; expected --input NAME=VALUE for each, or --random. The model is x float32[?] → y float32[?].",
  ],
  [[half, "--input", "z=[1]"], 2, 'The model has no input "z".'],
  [[half, "--input", "x=[1"], 2, "--input x is not JSON"],
  [[half, "--input", "x=@/nowhere.npy"], 2, 'The input "/nowhere.npy" does not exist'],
  [[half, "--input", "x=[1]", "--input", "x=[2]"], 2, '--input gives "x" twice.'],
  [
    [half, "--input", "x=[1]", "--out", "/nowhere/y.json"],
    2,
    '--out "/nowhere/y.json" is in a folder that does not exist',
  ],
  [[half, "--input", "x=[1]", "--format", "npy"], 2, "--format npy needs a file"],
  [[half, "--input", "x=[1]", "--format", "npy", "--json"], 2, "two forms"],
  [[half, "--input", "x=[1]", "--top", "0"], 2, "--top"],
  [[half, "--input", "x=[1]", "--stream", "--out", "y.json"], 2, "cannot be used with option '--out"],
  [[model("add-two-inputs.onnx"), "--input", `@${at("x.json")}`], 2, "which does not say for which input"],
  [["localhost:9001", "--random"], 2, "http://localhost:9001/v2/models/NAME where HTTP listens"],
  [["http://localhost:9001", "--random"], 2, "http://localhost:9001/v2/models/NAME where HTTP listens"],
  [["grpc://localhost/half", "--random"], 2, "expected http://HOST:PORT/v2/models/NAME or grpc://HOST:PORT/NAME"],
  [["/nowhere.onnx", "--random"], 1, 'The model "/nowhere.onnx" does not exist'],
] as const)("infer %j ends with %i", async (args, code, message) => {
  const outcome = await runCommand(["infer", ...args]);
  expect([outcome.code, outcome.stderr]).toEqual([code, expect.stringContaining(message)]);
});

test("infer gives a model that also takes texts either, by the names of its inputs", async () => {
  const config = { architectures: ["BertModel"], model_type: "bert", hidden_size: 2 };
  const model = toyEncoder({ table: tableOf({ good: [3, 0], bad: [0, 4] }) });
  const path = tempFolder({ ...toyTokenizer(), "config.json": JSON.stringify(config), "model.onnx": model });
  const texts = await infer(`${path}/model.onnx`, "--input", 'text=["good"]');
  expect(Object.keys(texts)).toEqual(["embedding"]);
  const ids = ["--input", "input_ids=[[2,4,3]]", "--input", "attention_mask=[[1,1,1]]"];
  expect(Object.keys(await infer(`${path}/model.onnx`, ...ids))).toEqual(["last_hidden_state"]);
});
