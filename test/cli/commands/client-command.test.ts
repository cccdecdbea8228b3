import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { writeModelTypes } from "../../../src/cli/client-types/write-model-types.ts";
import type { TensorSpec } from "../../../src/tensor/signature/signature.ts";
import { authFiles, TOKENS } from "../../access/auth-fixture.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { runCommand } from "./run-command.ts";

const HALF = "test/fixtures/models/half-plus-two.onnx";

const inputs: readonly TensorSpec[] = [
  { name: "image", dtype: "float32", shape: [-1, 64, 64, 3] },
  { name: "my text", dtype: "bytes", shape: [-1] },
  { name: "ids", dtype: "int64", shape: [-1, { min: 1, max: 4 }] },
];
const outputs: readonly TensorSpec[] = [{ name: "scores", dtype: "float32", shape: [-1, 3] }];
const models = {
  "my-model": { driver: "null", hooks: { inputs, outputs, process: () => ({ scores: [[1, 2, 3]] }) } },
  any: { driver: "null" },
  parts: {
    driver: "null",
    hooks: {
      outputs,
      async *process() {
        yield { scores: [[1, 2, 3]] };
      },
    },
  },
};

const TYPES = `/** Written by \`kserving client\`; write it again where the models change. */
import type { AnyModel, In, Out } from "kserving/client";

/** The models of ADDRESS. */
export interface Models {
  any: {
    inputs: AnyModel["inputs"];
    outputs: AnyModel["outputs"];
  };
  "my-model": {
    inputs: {
      image: In<"float32", [-1, 64, 64, 3]>;
      "my text": In<"bytes", [-1]>;
      ids: In<"int64", [-1, -1]>;
    };
    outputs: {
      scores: Out<"float32", [-1, 3]>;
    };
  };
  /** Answers in parts: \`stream(inputs)\` gives them. */
  parts: {
    inputs: AnyModel["inputs"];
    outputs: {
      scores: Out<"float32", [-1, 3]>;
    };
  };
}
`;

/** A program that is right, with lines that are wrong where the compiler is told to expect an error. */
const PROGRAM = `
import { connect, createTensor } from "kserving/client";
import type { Models } from "./models.d.ts";

const models = connect<Models>("http://localhost:9001", { timeoutMs: 10 });
const model = models["my-model"];
const pixel = [1, 2, 3];
const image = [[[pixel]]];
const right = { image, "my text": ["hi"], ids: [[1, 2n]] };

export async function good(blob: Blob) {
  const { scores } = await model.predict(right);
  const [rows, three]: readonly [number, 3] = scores.shape;
  const first: number | undefined = scores.data[0];
  await model.predict({ ...right, image: blob, "my text": blob });
  await model.predict({ ...right, image: [blob], ids: new BigInt64Array(2) });
  await model.version(2).infer({ ...right, image: createTensor("float32", [1, 1, 1, 3], new Float32Array(3)) });
  await models.any.predict({ whatever: 1, other: blob });
  await models.$model("another").predict({ x: "text" });
  for await (const part of model.stream(right, { id: "one" })) part.scores.data.fill(0);
  for await (const { index, outputs } of model.stream([right, right])) outputs?.scores.data.fill(index);
  return [rows, three, first];
}

export async function bad(blob: Blob) {
  // @ts-expect-error a model that is not served
  await models.mymodel.predict(right);
  // @ts-expect-error an input that the model lacks
  await model.predict({ ...right, imge: image });
  // @ts-expect-error an input that the model lacks, of a stream of parts
  model.stream({ ...right, imge: image });
  // @ts-expect-error an input that is missing
  await model.predict({ image, ids: [[1]] });
  // @ts-expect-error a list of rank 3
  await model.predict({ ...right, image: [[pixel]] });
  // @ts-expect-error a list of rank 5
  await model.predict({ ...right, image: [image] });
  // @ts-expect-error numbers for a text
  await model.predict({ ...right, "my text": [1] });
  // @ts-expect-error text for numbers
  await model.predict({ ...right, ids: [["1"]] });
  // @ts-expect-error an array of another dtype
  await model.predict({ ...right, image: new Float64Array(3) });
  // @ts-expect-error a tensor of another dtype
  await model.predict({ ...right, image: createTensor("int8", [1], new Int8Array(1)) });
  // @ts-expect-error a file for an input that takes none
  await model.predict({ ...right, ids: blob });
  // @ts-expect-error an output that the model lacks
  (await model.predict(right)).score;
  // @ts-expect-error the data is a Float32Array
  const data: Int32Array = (await model.predict(right)).scores.data;
  return data;
}
`;

test.each(["http", "grpc"] as const)("client writes the types of a server's models, over %s", async (scheme) => {
  const { httpUrl, grpcAddress } = await startServer({ models });
  const address = scheme === "http" ? httpUrl : `grpc://${grpcAddress}`;
  const { code, stdout } = await runCommand(["client", address]);
  expect([code, stdout.replace(address, "ADDRESS")]).toEqual([0, TYPES]);
});

test("a wrong name, rank or dtype is an error of the compiler, in a project without the types of Node", () => {
  const compilerOptions = {
    ...{ strict: true, noEmit: true, target: "es2022", module: "esnext", moduleResolution: "bundler" },
    ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, allowImportingTsExtensions: true },
    ...{ lib: ["es2023", "dom"], types: [], paths: { "kserving/client": [resolve("dist/client/client.d.ts")] } },
  };
  const tsconfig = JSON.stringify({ compilerOptions, files: ["program.ts", "models.d.ts"] });
  const folder = tempFolder({ "program.ts": PROGRAM, "models.d.ts": TYPES, "tsconfig.json": tsconfig });
  const compiler = resolve("node_modules/typescript/bin/tsc");
  const { status, stdout } = spawnSync(process.execPath, [compiler, "-p", folder], { encoding: "utf8" });
  expect([status, stdout]).toEqual([0, ""]);
});

test.each([
  ["of the client alone", { dependencies: { "kserving-client": "^0.1.0" } }, "kserving-client"],
  ["of the client for tests", { devDependencies: { "kserving-client": "^0.1.0" } }, "kserving-client"],
  ["of the server too", { dependencies: { "kserving-client": "1", kserving: "1" } }, "kserving/client"],
  ["of neither", {}, "kserving/client"],
  ["that cannot be read", [], "kserving/client"],
] as const)("client imports what a program has that depends on the package %s", async (_, manifest, module) => {
  const compilerOptions = {
    ...{ strict: true, noEmit: true, module: "nodenext", target: "es2023", allowImportingTsExtensions: true },
    ...{ types: [], noResolve: false, skipLibCheck: false, lib: ["es2023", "dom"] },
  };
  const program = `import { connect } from "${module}";
import type { Models } from "./models.d.ts";
const { y } = await connect<Models>("http://localhost:9001")["half-plus-two"].predict({ x: [1] });
export const first: number | undefined = y.data[0];
// @ts-expect-error an input that the model lacks
await connect<Models>("http://localhost:9001")["half-plus-two"].predict({ z: [1] });
`;
  const folder = tempFolder({
    "package.json": Array.isArray(manifest) ? "[" : JSON.stringify({ type: "module", ...manifest }),
    "src/program.ts": program,
    "tsconfig.json": JSON.stringify({ compilerOptions, files: ["src/program.ts"] }),
  });
  const out = join(folder, "src/models.d.ts");
  expect((await runCommand(["client", HALF, "--out", out])).code).toBe(0);
  expect(readFileSync(out, "utf8")).toContain(`import type { In, Out } from "${module}";`);
  if (!("dependencies" in manifest)) return;
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(
    resolve(module === "kserving-client" ? "packages/client" : "."),
    join(folder, "node_modules", module.split("/")[0] ?? ""),
  );
  const compiler = resolve("node_modules/typescript/bin/tsc");
  const { status, stdout } = spawnSync(process.execPath, [compiler, "-p", folder], { encoding: "utf8" });
  expect([status, stdout]).toEqual([0, ""]);
});

test("client describes a model's file, and writes JSON or a file", async () => {
  const out = join(tempFolder({}), "models.d.ts");
  expect((await runCommand(["client", HALF, "--out", out])).code).toBe(0);
  expect(readFileSync(out, "utf8")).toContain(
    `  "half-plus-two": {\n    inputs: {\n      x: In<"float32", [-1]>;\n    };\n    outputs: {\n      y: Out<"float32", [-1]>;\n`,
  );
  const { stdout } = await runCommand(["client", HALF, "--json"]);
  const x = { name: "x", dtype: "float32", shape: [-1], isOptional: false };
  expect(JSON.parse(stdout).models["half-plus-two"].inputs).toEqual([x]);
});

test.each([
  ["python", "def half_plus_two(self, *, x: npt.ArrayLike) -> HalfPlusTwoOutputs:"],
  ["go", "func (client *Client) HalfPlusTwo(ctx context.Context, inputs HalfPlusTwoInputs) (outputs"],
])("client writes a client in %s, whatever the file is called", async (language, text) => {
  const { stdout } = await runCommand(["client", HALF, "--language", language]);
  expect(stdout).toContain(text);
});

test("client asks with credentials, for the models that are named", async () => {
  const { httpUrl } = await startServer({ models, auth: await authFiles() });
  const file = join(tempFolder({ "auth.txt": `${new URL(httpUrl).host} Bearer ${TOKENS.admin}\n` }), "auth.txt");
  const flags = ["--remote-auth-file", file, "--model", "any", "--json"];
  const asked = JSON.parse((await runCommand(["client", httpUrl, ...flags, "--model", "parts"])).stdout);
  expect(asked.models).toMatchObject({ any: {}, parts: { decoupled: true } });
  expect(asked.models.any).toEqual({});
  const refused = await runCommand(["client", httpUrl]);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("401")]);
});

test.each([
  ["a server without models", async () => [(await startServer({ models: {} })).httpUrl], "no model that is ready"],
  ["a model that is not there", async () => ["missing.onnx"], "missing.onnx"],
  ["--json beside a language", async () => [HALF, "--json", "--language", "go"], "cannot be used with option '--json'"],
  ["--model beside a file", async () => [HALF, "--model", "x"], "--model is for servers"],
  [
    "a folder that is not there",
    async () => [HALF, "--out", "no/such/models.d.ts"],
    "expected a file that can be written",
  ],
])("client says what is wrong with %s", async (_, args, text) => {
  const { code, stderr } = await runCommand(["client", ...(await args())]);
  expect([code === 0, stderr]).toEqual([false, expect.stringContaining(text)]);
});

test("names that end comments or texts, optional inputs and models without inputs are written as they are", () => {
  const half = { inputs: [{ name: 'a"b', dtype: "float16", isOptional: true }], outputs: [] } as const;
  const text = writeModelTypes(new Map([["In", half]]), "x */ evil");
  expect(text).toContain("/** The models of x * / evil. */");
  expect(text).toContain('      "a\\"b"?: In<"float16">;\n    };\n    outputs: Record<string, never>;');
  expect(text).toContain('import type { In } from "kserving/client";');
});

test("an example stays in its comment whatever names and categories have, and is left out if no one would read it", () => {
  const column = (name: string, ...categories: string[]) =>
    ({ name, dtype: "bytes", shape: [-1], categories }) as const;
  const textOf = (...inputs: ReturnType<typeof column>[]) => writeModelTypes(new Map([["m", { inputs }]]), "x");
  expect(textOf(column("a\u2028b", "c\u2029d"))).toContain(
    '  // For example: predict({ "a\\u2028b": ["c\\u2029d"] })\n',
  );
  const many = Array.from({ length: 1000 }, (_, index) => column(`c${index}`, "x".repeat(200)));
  expect(textOf(...many)).not.toContain("For example");
});
