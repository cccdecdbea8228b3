import { join } from "node:path";
import { expect, test } from "vitest";
import { startKserving, writeTestFile } from "../cli/start-kserving.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

/** Returns what a program in JavaScript may return by mistake. */
const DRIVER = `
const tensor = (parts) => ({ y: { dtype: "float32", shape: [1], data: Float32Array.of(7), ...parts } });
const RESULTS = {
  right: tensor({}), undefined: undefined, null: null, list: [1], text: "7", empty: { y: undefined }, number: { y: 7 },
  array: tensor({ data: [7] }), other: tensor({ data: Float64Array.of(7) }), dtype: tensor({ dtype: "floaty" }),
  short: tensor({ shape: [2] }), shapeless: tensor({ shape: undefined }), negative: tensor({ shape: [-1] }),
  texts: tensor({ dtype: "bytes", data: ["7"] }),
};
export default {
  name: "foreign", options: {}, pathless: true, placement: PLACEMENT,
  load: async () => ({
    signatures: { serving_default: { inputs: [{ name: "x", dtype: "bytes", shape: [1] }] } },
    predict: async ({ x }) => RESULTS[Buffer.from(x.data[0]).toString()],
    close: async () => {},
  }),
};`;

const PROBLEMS = {
  undefined: "undefined",
  null: "null",
  list: "an array",
  text: "a string",
  empty: 'for the output "y" undefined',
  number: 'for the output "y" a number',
  array: `for the output "y" what is no tensor: A float32 tensor's data is a Array; expected a Float32Array`,
  other: `for the output "y" what is no tensor: A float32 tensor's data is a Float64Array; expected a Float32Array`,
  dtype: 'for the output "y" an object whose dtype is "floaty"',
  short: 'for the output "y" what is no tensor: A float32 tensor of shape [2] has 2 values, but 1 were given',
  shapeless: 'for the output "y" an object whose shape is undefined',
  negative: 'for the output "y" what is no tensor: Shape [-1] has dimension -1; expected an integer of 0 or more',
  texts:
    'for the output "y" what is no tensor: A bytes tensor\'s data has string; expected an array with one Uint8Array for each element',
} as const;

async function start() {
  const files = {
    "thread.mjs": DRIVER.replace("PLACEMENT", '"thread"'),
    "inline.mjs": DRIVER.replace("PLACEMENT", '"inline"'),
  };
  const folder = tempFolder(files);
  const config = `models:
  - { name: thread, driver: ${join(folder, "thread.mjs")} }
  - { name: isolated, driver: ${join(folder, "thread.mjs")}, isolate: true }
  - { name: inline, driver: ${join(folder, "inline.mjs")} }
`;
  const flags = [
    "--config",
    await writeTestFile("models.yaml", config),
    "--host=127.0.0.1",
    "--port=0",
    "--http-port=0",
  ];
  const program = startKserving(flags, {});
  const { http } = (await program.event("ready")) as unknown as { readonly http: string };
  const ask = async (model: string, what: string) => {
    const body = JSON.stringify({ inputs: [{ name: "x", datatype: "BYTES", shape: [1], data: [what] }] });
    const headers = { "x-request-id": `${model}-${what}` };
    const response = await fetch(`${http}/v2/models/${model}/infer`, { method: "POST", headers, body });
    return { status: response.status, body: await response.text() };
  };
  return { program, ask };
}

/** A driver whose answer is what its path names, whatever its signature declares. */
const DECLARING = `
const tensor = (dtype, shape, data) => ({ dtype, shape, data });
const y = tensor("float32", [1], Float32Array.of(7));
const ANSWERS = {
  right: { y, z: tensor("int64", [], BigInt64Array.of(1n)) }, missing: { y }, dtype: { y, z: tensor("int32", [], Int32Array.of(1)) },
  shape: { y, z: tensor("int64", [1], BigInt64Array.of(1n)) }, extra: { y, z: tensor("int64", [], BigInt64Array.of(1n)), more: y },
};
export default {
  name: "declaring", options: {}, pathless: true,
  load: async () => ({
    signatures: { serving_default: {
      inputs: [{ name: "x", dtype: "bytes", shape: [1] }],
      outputs: [{ name: "y", dtype: "float32", shape: [-1] }, { name: "z", dtype: "int64", shape: [] }],
    } },
    predict: async ({ x }) => ANSWERS[Buffer.from(x.data[0]).toString()],
    close: async () => {},
  }),
};`;

test("a driver whose answer is not what it declares fails its request, with the output, what came and what is declared", async () => {
  const driver = join(tempFolder({ "declaring.mjs": DECLARING }), "declaring.mjs");
  const { httpUrl } = await startServer({ models: { m: { driver } } });
  const ask = async (what: string, outputs?: readonly object[]) => {
    const body = JSON.stringify({ inputs: [{ name: "x", datatype: "BYTES", shape: [1], data: [what] }], outputs });
    const response = await fetch(`${httpUrl}/v2/models/m/infer`, { method: "POST", body });
    return [response.status, (JSON.parse(await response.text()) as { error?: string }).error];
  };
  const fault = (text: string) => [500, `The driver declaring, of the model m, ${text}.`];
  expect(await ask("right")).toEqual([200, undefined]);
  expect(await ask("missing", [{ name: "y" }])).toEqual([200, undefined]);
  expect(await ask("missing")).toEqual(fault('did not return the declared output "z", but nothing else'));
  expect(await ask("dtype")).toEqual(fault('returned "z" as int32[]; declared is int64[]'));
  expect(await ask("shape")).toEqual(fault('returned "z" as int64[1]; declared is int64[]'));
  expect(await ask("extra")).toEqual(
    fault('returned "more", which is not declared; declared are y float32[-1], z int64[]'),
  );
});

test("a driver that returns no tensors fails its request, with its name and the model's, and goes on", async () => {
  const { program, ask } = await start();
  for (const model of ["thread", "isolated", "inline"]) {
    for (const [what, problem] of Object.entries(PROBLEMS)) {
      const { status, body } = await ask(model, what);
      const error = `predict of the driver foreign, of the model ${model}, returned ${problem}; expected {`;
      expect([status, JSON.parse(body).error]).toEqual([500, expect.stringContaining(error)]);
    }
    expect(await ask(model, "right")).toEqual({ status: 200, body: expect.stringContaining("[7.0]") });
  }
  program.kill("SIGTERM");
  const { stdout } = await program.ended();
  expect(stdout).not.toMatch(/thread (?:ended|failed)|is replaced/);
  for (const model of ["thread", "isolated", "inline"])
    for (const what of Object.keys(PROBLEMS)) expect(stdout).toContain(`"requestId":"${model}-${what}"`);
});

test.each([
  ["undefined", "undefined", "returned undefined; expected { signatures:"],
  ["{}", "nothing", "returned an object whose signatures are undefined; expected { signatures:"],
  ["{ signatures: {}, predict: async () => ({}) }", "no close", "returned an object whose close is undefined"],
])("a driver whose load returns %s is refused", async (loaded, _, problem) => {
  const code = `export default { name: "foreign", options: {}, pathless: true, load: async () => (${loaded}) };`;
  const driver = join(tempFolder({ "driver.mjs": code }), "driver.mjs");
  const flags = ["--driver", driver, "--host=127.0.0.1", "--port=0", "--load-retries=0", "--fail-fast"];
  const { stdout, stderr } = await startKserving(flags, {}).ended();
  expect(`${stdout}${stderr}`).toContain(`load of the driver foreign ${problem}`);
});
