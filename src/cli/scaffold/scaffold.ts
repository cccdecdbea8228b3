/** Texts of files by their paths. */
export type ScaffoldFiles = Readonly<Record<string, string>>;

/** Files of one kind of folder, and the command that serves them. */
export interface Scaffold {
  readonly start: string;
  readonly files: ScaffoldFiles;
  /** For AGENTS.md: its purpose, and pages of the documentation. */
  readonly about: About;
}

interface About {
  readonly purpose: string;
  readonly pages: readonly string[];
}

/** The file among those of a folder that `npm test` runs; undefined if there is none. */
export function testOf(files: ScaffoldFiles): string | undefined {
  return Object.keys(files).find((file) => file.endsWith(".test.mjs"));
}

/** The text of AGENTS.md, which coding assistants read first. */
export function agentsText({ start, files, about: { purpose, pages } }: Scaffold): string {
  const test = testOf(files);
  const [testing, advice] =
    test === undefined
      ? ["", "After each change run the compiler."]
      : [
          `    npm test                         # runs ${test}, without any port\n`,
          "After each change run the tests and the compiler; a server started with `--watch` takes it over at once.",
        ];
  const docs = [...pages, "errors", "commands", "configuration"].map((page) => `docs/${page}.md`);
  return `# For coding assistants

${purpose} kserving is a model server; README.md here says the same for people.

${testing}    npm start                        # ${start}
    npm install && npm run typecheck # the compiler, without writing anything

- ${advice}
- A server that runs tells what it serves at http://localhost:9001/llms.txt, with a request to each model, and each
  model's calls at http://localhost:9001/v2/models/NAME/openapi.json.
- Errors of \`/predict\` and \`/v2\` may have \`code\`, \`reason\`, \`field\`, \`expected\`, \`did_you_mean\` and \`docs\` beside \`error\`.
- \`npx --no kserving --help\` lists the commands, \`npx --no kserving inspect FILE\` says what a model takes, and
  \`npx --no kserving doctor\` what is missing on this machine.
- The types are in \`node_modules/kserving/dist/index.d.ts\`, the documentation is in \`node_modules/kserving\`:
  ${docs.join(", ")}.
`;
}

const HOOKS = `import { defineHooks, tensorOf } from "kserving";

/** Multiplies by \`-o factor=\` what the model is given. */
export default defineHooks({
  inputs: [{ name: "x", dtype: "float32", shape: [-1] }],
  outputs: [{ name: "x", dtype: "float32", shape: [-1] }],
  options: { factor: { type: "number", default: 2, help: "Factor of the inputs." } },
  init_hook: (params) => ({ factor: Number(params.factor) }),
  preprocess: (inputs, ctx) => {
    const { factor } = ctx.global_ctx as { factor: number };
    const x = tensorOf(inputs, "x", "float32");
    return { x: { ...x, data: x.data.map((value) => factor * value) } };
  },
});
`;

const HOOK_TEST = `import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeModel, testHooks } from "kserving/testing";

const model = fakeModel({ inputs: [{ name: "x", dtype: "float32", shape: [-1] }] });
const pipeline = testHooks(new URL("hooks.ts", import.meta.url), { models: [model], options: { factor: "3" } });

test("the model is given the numbers multiplied by the factor", async () => {
  await pipeline.run({ x: [1, 2.5] });
  assert.deepEqual([...model.calls.at(-1).x.data], [3, 7.5]);
});

test("the answer is the model's", async () => {
  const { outputs } = await pipeline.run({ x: [0.5] });
  assert.deepEqual([...outputs.x.data], [1.5]);
});

test("texts are refused", async () => {
  await assert.rejects(pipeline.run({ x: ["a"] }), { code: "invalid_argument" });
});
`;

const hookReadme = (start: string) => `# Hooks for kserving

\`hooks.ts\` runs before and after a model; the driver \`null\` stands for one here.

    npm test            # runs hooks.test.mjs, without any port
    npm start           # ${start}
    npm install && npm run typecheck

Then, in another terminal:

    curl -d '{"inputs": {"x": [1, 2.5]}}' http://localhost:9001/v1/models/scale:predict

With a model of your own, name its file in place of \`--driver null\`. While hooks.ts is edited, \`--watch\` takes each
change over at once.
`;

const HOOK_START = "kserving --driver null --hooks hooks.ts --name scale --http-enable";
const PROJECT_START = "kserving --config serving.yaml";

/** A hook file with its test. */
export const HOOK_FILES: Scaffold = {
  start: HOOK_START,
  about: { purpose: "Hooks in TypeScript that run before and after a model.", pages: ["hooks", "tensors"] },
  files: { "hooks.ts": HOOKS, "hooks.test.mjs": HOOK_TEST, "README.md": hookReadme(HOOK_START) },
};

const STREAM_HOOKS = `import { defineHooks, tensorOf } from "kserving";

/** Answers in parts: one for each number, as soon as the model has run with it. */
export default defineHooks({
  inputs: [{ name: "x", dtype: "float32", shape: [-1] }],
  outputs: [{ name: "y", dtype: "float32", shape: [-1] }],

  async *process({ x }, ctx, { driver }) {
    for (const value of x.data) {
      const answer = await driver.predict({ x: [value] });
      yield { y: tensorOf(answer, "x", "float32") };
    }
  },

  /** Joins the parts for requests that take one answer. */
  collect: (parts) => ({ y: Float32Array.from(parts.flatMap(({ y }) => [...y.data])) }),
});
`;

const STREAM_TEST = `import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeModel, testHooks } from "kserving/testing";

const model = fakeModel({ inputs: [{ name: "x", dtype: "float32", shape: [-1] }] });
const pipeline = testHooks(new URL("hooks.ts", import.meta.url), { models: [model] });

test("each number is answered by its own part", async () => {
  const parts = [];
  for await (const { outputs } of pipeline.stream({ x: [1, 2.5] })) parts.push([...outputs.y.data]);
  assert.deepEqual(parts, [[1], [2.5]]);
});

test("no more parts are made for a client that has left", async () => {
  const runs = model.calls.length;
  for await (const _ of pipeline.stream({ x: new Float32Array(1000) })) break;
  assert.ok(model.calls.length < runs + 1000);
});

test("one answer has all parts", async () => {
  const { outputs } = await pipeline.run({ x: [1, 2.5] });
  assert.deepEqual([...outputs.y.data], [1, 2.5]);
});
`;

const STREAM_START = "kserving --driver null --hooks hooks.ts --name each --http-enable";

/** A hook file that answers in parts, with its test. */
export const STREAM_FILES: Scaffold = {
  start: STREAM_START,
  about: { purpose: "Hooks in TypeScript that answer in parts.", pages: ["hooks", "tensors", "kserve"] },
  files: {
    "hooks.ts": STREAM_HOOKS,
    "hooks.test.mjs": STREAM_TEST,
    "README.md": hookReadme(STREAM_START)
      .replace("`hooks.ts` runs before and after a model", "`hooks.ts` answers in parts, as a model makes them")
      .replace(
        /curl -d .*predict/,
        `curl -N -d '{"x": [1, 2.5]}' http://localhost:9001/v2/models/each/generate_stream`,
      ),
  },
};

const CONFIG = `http-enable: true
models:
  - name: scale
    driver: "null" # or path: model.onnx
    hooks: hooks.ts
    options: { factor: 3 }
`;

const CONFIG_TEST = `
const at = (name) => fileURLToPath(new URL(name, import.meta.url));

test("the configuration can be served", () => {
  const program = at("node_modules/kserving/bin/kserving.cjs");
  const config = at("serving.yaml");
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, "config", "check", config]);
  assert.equal(status, 0, \`\${stdout}\${stderr}\`);
});
`;

/** A configuration file with hooks, and a test of both. */
export const PROJECT_FILES: Scaffold = {
  start: PROJECT_START,
  about: {
    purpose: "A configuration with models, and their hooks in TypeScript.",
    pages: ["hooks", "models", "tensors"],
  },
  files: {
    "serving.yaml": CONFIG,
    "hooks.ts": HOOKS,
    "serving.test.mjs": `${HOOK_TEST}${CONFIG_TEST}`
      .replace("import { test }", 'import { spawnSync } from "node:child_process";\nimport { test }')
      .replace('"node:test";', '"node:test";\nimport { fileURLToPath } from "node:url";'),
    "README.md": hookReadme(PROJECT_START)
      .replace("# Hooks for kserving", "# Models served by kserving")
      .replace("`hooks.ts` runs", "`serving.yaml` lists the models and settings. `hooks.ts` runs")
      .replace("hooks.test.mjs", "serving.test.mjs")
      .replace("in place of `--driver null`", "in place of the driver"),
  },
};

const DRIVER = `import { readFile } from "node:fs/promises";
import { createTensor, DEFAULT_SIGNATURE, defineDriver, ServingError, tensorOf } from "kserving";

/** y = weight · x + bias, with the two numbers in a JSON file. */
export default defineDriver<{ digits: number }>({
  name: "linear",
  options: { digits: { type: "integer", min: 0, default: 6, help: "Decimal places of the results." } },
  detect: (path) => path.endsWith(".linear.json"),
  load: async (path, { digits }) => {
    const text = await readFile(path, "utf8").catch((cause) => {
      throw new ServingError("failed_precondition", \`No model file at "\${path}"; expected JSON.\`, { cause });
    });
    const { weight, bias } = JSON.parse(text) as { weight: number; bias: number };
    return {
      signatures: {
        [DEFAULT_SIGNATURE]: {
          inputs: [{ name: "x", dtype: "float32", shape: [-1] }],
          outputs: [{ name: "y", dtype: "float32", shape: [-1] }],
        },
      },
      predict: async (inputs) => {
        const x = tensorOf(inputs, "x", "float32");
        const y = x.data.map((value) => Number((weight * value + bias).toFixed(digits)));
        return { y: createTensor("float32", x.shape, y) };
      },
      close: async () => {},
    };
  },
});
`;

const DRIVER_TEST = `import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { createServer } from "kserving";

const at = (name) => fileURLToPath(new URL(name, import.meta.url));
const open = (path) =>
  createServer({ models: { linear: { driver: at("driver.ts"), path } }, listen: false, failFast: true, loadRetries: 0 });

test("the driver runs its model", async () => {
  const server = await open(at("double.linear.json"));
  try {
    const { y } = await server.predict("linear", { x: [1, 2.5] });
    assert.deepEqual([...y.data], [3, 6]);
  } finally {
    await server.close();
  }
});

test("a model that is not there is refused", async () => {
  await assert.rejects(open(at("nowhere.linear.json")), { code: "failed_precondition" });
});
`;

const DRIVER_START = "kserving --driver ./driver.ts --model-path double.linear.json --http-enable";

const DRIVER_README = `# A driver for kserving

\`driver.ts\` loads a model's file and runs it; the server does the rest: checks, batching, threads, all protocols.

    npm test            # runs driver.test.mjs, without any port
    npm start           # ${DRIVER_START}
    npm install && npm run typecheck
`;

/** A driver with a model of its format, and its test. */
export const DRIVER_FILES: Scaffold = {
  start: DRIVER_START,
  about: {
    purpose: "A driver in TypeScript, which loads and runs models of its own format.",
    pages: ["drivers/own-drivers", "tensors"],
  },
  files: {
    "driver.ts": DRIVER,
    "driver.test.mjs": DRIVER_TEST,
    "double.linear.json": '{ "weight": 2, "bias": 1 }\n',
    "README.md": DRIVER_README,
  },
};
