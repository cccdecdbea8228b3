import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { Hooks } from "../../../src/hooks/hooks.ts";
import { writeNpy } from "../../../src/tensor/codecs/npy.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { authFiles, TOKENS } from "../../access/auth-fixture.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { runCommand } from "./run-command.ts";

const model = (name: string) => fileURLToPath(new URL(`../../fixtures/models/${name}`, import.meta.url));
const half = model("half-plus-two.onnx");
const ONE = ["--driver", "onnx", "--runs", "1"];

/** A golden file with outputs of zeros, of these shapes. */
function goldenOf(shapes: Readonly<Record<string, readonly number[]>>): string {
  const outputs = Object.entries(shapes).map(([name, shape]) => {
    const count = shape.reduce((product, size) => product * size, 1);
    return [name, { dtype: "float32", shape, data: new Array<number>(count).fill(0) }] as const;
  });
  const golden = JSON.stringify(Object.fromEntries(outputs));
  return join(tempFolder({ "golden.json": golden }), "golden.json");
}

async function compare(...args: string[]) {
  const { code, stdout, stderr } = await runCommand(["compare", ...args]);
  return { code, stdout, stderr };
}

test("compare runs a model on a driver and in a server, and finds both equal", async () => {
  const { httpUrl } = await startServer({ models: { half: { path: half } } });
  const address = `${httpUrl}/v2/models/half`;
  const { code, stdout } = await compare(half, address, ...ONE, "--json");
  const { targets, outputs } = JSON.parse(stdout);
  expect(code).toBe(0);
  expect(targets).toEqual([
    { name: `${half} (onnx)`, runtime: expect.stringContaining("ONNX Runtime"), ms: expect.any(Number) },
    { name: address, ms: expect.any(Number) },
  ]);
  expect(outputs).toEqual([{ target: address, output: "y", distance: 0, isNear: true, text: "" }]);
});

test("compare sends a server values over HTTP for which JSON has no words", async () => {
  const { httpUrl } = await startServer({ models: { half: { path: half } } });
  const file = join(tempFolder({}), "x.npy");
  writeFileSync(file, writeNpy(createTensor("float32", [2], Float32Array.of(Number.NaN, Number.NEGATIVE_INFINITY))));
  const { code, stderr } = await compare(half, `${httpUrl}/v2/models/half`, ...ONE, "--input", `x=@${file}`);
  expect([code, stderr]).toEqual([0, ""]);
});

test("compare reads a server's answers over gRPC too", async () => {
  const { grpcAddress, httpUrl } = await startServer({ models: { half: { path: half } } });
  const [grpc, http] = [`grpc://${grpcAddress}/half`, `${httpUrl}/v2/models/half/versions/1`];
  const { code, stdout } = await compare(grpc, http, "--input", "x=[1,2.5]", "--runs", "0", "--json");
  expect([code, JSON.parse(stdout).outputs]).toEqual([
    0,
    [{ target: http, output: "y", distance: 0, isNear: true, text: "" }],
  ]);
});

test("compare gives random values the shapes that are asked for", async () => {
  const { httpUrl } = await startServer({ models: { half: { path: half } } });
  const place = `${httpUrl}/v2/models/half`;
  const { code, stdout } = await compare(place, half, ...ONE, "--shape", "x=5", "--golden", goldenOf({ y: [5] }));
  expect([code, stdout]).toEqual([1, expect.not.stringContaining("float32[")]);
  expect((await compare(place, half, ...ONE, "--shape", "y=5")).stderr).toContain(
    'names the input "y"; the model has x',
  );
});

test("compare tells by its exit code where two servers differ by more than the tolerance", async () => {
  const hooks = {
    postprocess: (outputs: Readonly<Record<string, unknown>>) => ({
      y: (outputs.y as { data: Float32Array }).data.map((value) => value + 0.25),
    }),
  };
  const { httpUrl } = await startServer({ models: { half: { path: half }, other: { path: half, hooks } } });
  const places = ["half", "other"].map((name) => `${httpUrl}/v2/models/${name}`);
  const input = ["--input", "x=[1,2]", "--runs", "0"];
  const far = await compare(...places, ...input);
  expect([far.code, far.stderr]).toEqual([
    1,
    expect.stringContaining("1 of 1 outputs differ by more than the tolerance."),
  ]);
  expect(far.stdout).toMatch(/other +y +DIFFERS +by 0\.25 at \[0\]: 2\.5 from .*half, 2\.75 from .*other$/m);
  expect(await compare(...places, ...input, "--tolerance", "0,0.25")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(" near "),
  });
});

/** Hooks that answer with the numbers up to `x`, each multiplied, in parts. */
const counting = (factor: number, more = 0): Hooks => ({
  inputs: [{ name: "x", dtype: "int32", shape: [1] }],
  async *process({ x }) {
    for (let value = 0; value < Number(x?.data[0]) + more; value++)
      yield { value: Int32Array.of(value * factor), text: "a" };
  },
});

describe("compare of answers in parts", () => {
  async function open(models: Readonly<Record<string, Hooks>>) {
    const named = Object.entries(models).map(([name, hooks]) => [name, { driver: "null", hooks }] as const);
    const { httpUrl, grpcAddress } = await startServer({ models: Object.fromEntries(named) });
    return {
      http: (name: string) => `${httpUrl}/v2/models/${name}`,
      grpc: (name: string) => `grpc://${grpcAddress}/${name}`,
    };
  }

  test("finds those of a model over HTTP and gRPC equal, and says how many there are", async () => {
    const { http, grpc } = await open({ count: counting(1) });
    const flags = ["--input", "x=[3]", "--runs", "1"];
    const { code, stdout } = await compare(grpc("count"), http("count"), ...flags, "--json");
    const parted = { decoupled: true, parts: 3, isCut: false, ms: expect.any(Number), firstPartMs: expect.any(Number) };
    const { targets, outputs } = JSON.parse(stdout);
    expect([code, targets]).toEqual([0, ["grpc", "http"].map(() => ({ name: expect.any(String), ...parted }))]);
    expect(outputs).toEqual(
      ["(parts)", "value", "text"].map((output) => {
        return { target: http("count"), output, distance: 0, isNear: true, text: "" };
      }),
    );
    const table = await compare(grpc("count"), http("count"), ...flags);
    expect(table.stdout).toMatch(/^Target +Median +Parts +First part +Runtime\n\S+ +\S+ ms +3 +\S+ ms$/m);
  });

  test("names the part that differs most, and another number of parts, as that of a model that answers once", async () => {
    const once: Hooks = { process: () => ({ value: Int32Array.of(0), text: "a" }) };
    const { http, grpc } = await open({ count: counting(1), twice: counting(2), longer: counting(1, 1), once });
    const flags = ["--input", "x=[3]", "--runs", "0"];
    const far = await compare(http("count"), http("twice"), ...flags);
    expect([far.code, far.stdout]).toEqual([
      1,
      expect.stringMatching(/twice +value +DIFFERS +part 3: by 2 at \[0\]: 2 from .*count, 4 from .*twice$/m),
    ]);
    expect(far.stdout).toMatch(/twice +\(parts\) +equal$/m);
    const longer = await compare(http("count"), grpc("longer"), ...flags);
    expect([longer.code, longer.stdout]).toEqual([
      1,
      expect.stringMatching(/longer +\(parts\) +DIFFERS +3 from .*count, 4 from .*longer$/m),
    ]);
    const single = await compare(http("count"), http("once"), ...flags);
    expect(single.stdout).toMatch(/once +\(parts\) +DIFFERS +3 from .*count, 1 from .*once$/m);
  });

  test("leaves endless ones, and asks for one answer to compare with a golden file", async () => {
    const { http } = await open({ endless: counting(1, Number.POSITIVE_INFINITY) });
    const flags = ["--input", "x=[1]", "--runs", "0"];
    const { code, stdout } = await compare(http("endless"), http("endless/versions/1"), ...flags, "--json");
    expect([code, JSON.parse(stdout).targets]).toMatchObject([0, [{ parts: 1000, isCut: true }, { isCut: true }]]);
    const golden = await compare(http("endless"), ...flags, "--golden", goldenOf({ value: [1] }));
    expect([golden.code, golden.stderr]).toEqual([1, expect.stringContaining("decoupled transaction policy")]);
  });
});

test("compare names the target that fails on the inputs, and compares the others", async () => {
  const fails = { process: () => Promise.reject(new Error("no")) };
  const { httpUrl } = await startServer({ models: { half: { path: half }, fails: { path: half, hooks: fails } } });
  const [one, other, broken] = ["half", "half/versions/1", "fails"].map((name) => `${httpUrl}/v2/models/${name}`);
  const flags = ["--input", "x=[1]", "--runs", "0"];
  const { code, stdout, stderr } = await compare(String(one), String(other), String(broken), ...flags);
  expect([code, stderr]).toEqual([1, expect.stringContaining("A target failed on the inputs")]);
  expect(stdout).toMatch(/versions\/1 +y +equal$/m);
  expect(stdout).toContain(`FAILED: ${broken}: `);
  expect((await compare(String(one), String(broken), ...flags)).stderr).toMatch(
    /There is nothing to compare.*fails: [^;]*$/,
  );
  for (const places of [
    [one, broken],
    [one, other, broken],
  ])
    expect((await compare(...(places as string[]), "--runs", "0")).stderr).toMatch(
      /; the random inputs are --shape x=\d: usual sizes may help, or --input/,
    );
});

test("compare takes what infer has written as its golden file", async () => {
  const golden = join(tempFolder({}), "golden.json");
  await runCommand(["infer", half, "--input", "x=[1,2.5]", "--out", golden]);
  expect((await compare(half, ...ONE, "--golden", golden, "--input", "x=[1,2.5]")).code).toBe(0);
  expect((await compare(half, ...ONE, "--golden", golden, "--input", "x=[1,2]")).code).toBe(1);
  expect((await compare(half, ...ONE, "--golden", golden, "--input", "x=[1]")).stdout).toContain("float32[2] from");
});

test("a golden file keeps large integers, not-a-numbers and texts as they are", async () => {
  const hooks = `const data = { big: 2n ** 62n + 1n, odd: { dtype: "float32", shape: [2], data: new Float32Array([NaN, -Infinity]) }, text: "NaN" }; export default { process: () => data };`;
  const folder = tempFolder({ "hooks.mjs": hooks });
  const [golden, hookFile] = [join(folder, "golden.json"), join(folder, "hooks.mjs")];
  await runCommand(["infer", hookFile, "--driver", "null", "--hooks", hookFile, "--input", "x=1", "--out", golden]);
  expect(readFileSync(golden, "utf8")).toContain("[NaN,-Infinity]");
  const { httpUrl } = await startServer({ models: { odd: { driver: "null", hooks: hookFile } } });
  const address = `${httpUrl}/v2/models/odd`;
  expect(await compare(address, "--golden", golden, "--input", "x=1", "--runs", "0")).toMatchObject({ code: 0 });
  const changed = readFileSync(golden, "utf8").replace("4611686018427387905", "4611686018427387904");
  writeFileSync(golden, changed);
  const { stdout } = await compare(address, "--golden", golden, "--input", "x=1", "--runs", "0");
  expect(stdout).toMatch(/big +DIFFERS +by 1 at \[\]: 4611686018427387904 from/);
});

test.each([
  [[half, ...ONE], 1, "Only onnx runs the model; expected two targets to compare"],
  [[half, "--driver", "onnx", "--driver", "tensorflow"], 1, "is not a TensorFlow model"],
  [[half, ...ONE, "--golden", "/nowhere.json"], 2, 'The golden file "/nowhere.json" does not exist'],
  [[half, ...ONE, "--golden", half], 2, "expected what kserving infer --json --out FILE writes"],
  [["http://127.0.0.1:1/v2/models/x", half], 1, "http://127.0.0.1:1 cannot be reached"],
  [["http://127.0.0.1:1", half], 2, "the address of a model is http://127.0.0.1:1/v2/models/NAME where"],
  [["grpc://127.0.0.1:1/x", half], 1, "grpc://127.0.0.1:1 cannot be reached"],
  [[half, ...ONE, "--tolerance", "x"], 2, "--tolerance"],
] as const)("compare %j ends with %i", async (args, code, message) => {
  const outcome = await compare(...args);
  expect([outcome.code, outcome.stderr]).toEqual([code, expect.stringContaining(message)]);
});

test("compare fails where no driver runs one of the models, and for flags that servers have no use for", async () => {
  const { code, stderr } = await compare(half, "none.onnx", "--runs", "1");
  expect([code, stderr]).toEqual([1, expect.stringMatching(/No driver runs "none\.onnx"; .*does not exist/)]);
  const served = await compare("grpc://127.0.0.1:1/a", "grpc://127.0.0.1:1/b", "--driver", "onnx");
  expect([served.code, served.stderr]).toEqual([2, expect.stringContaining("all targets are models of servers")]);
});

test("a golden file keeps texts that are JSON, and bytes that are not text", async () => {
  const hooks =
    "export default { process: () => ({ t: ['[1, NaN, 12345678901234567890]'], b: [Buffer.from([255])] }) };";
  const folder = tempFolder({ "hooks.mjs": hooks });
  const [golden, file] = [join(folder, "golden.json"), join(folder, "hooks.mjs")];
  await runCommand(["infer", file, "--driver", "null", "--hooks", file, "--input", "x=1", "--out", golden]);
  const { httpUrl } = await startServer({ models: { odd: { driver: "null", hooks: file } } });
  const { code, stderr } = await compare(
    `${httpUrl}/v2/models/odd`,
    "--golden",
    golden,
    "--input",
    "x=1",
    "--runs",
    "0",
  );
  expect([code, stderr]).toEqual([0, ""]);
});

test("compare sends the credentials of a server", async () => {
  const { grpcAddress } = await startServer({ models: { half: { path: half } }, auth: await authFiles() });
  const file = join(tempFolder({ credentials: `${grpcAddress} Bearer ${TOKENS.admin}\n` }), "credentials");
  const place = `grpc://${grpcAddress}/half`;
  const flags = [place, half, "--driver", "onnx", "--input", "x=[1]", "--runs", "0"];
  expect((await compare(...flags)).code).toBe(1);
  expect((await compare(...flags, "--remote-auth-file", file)).code).toBe(0);
});
