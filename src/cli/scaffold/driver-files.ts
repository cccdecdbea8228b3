import type { Scaffold } from "./scaffold.ts";

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

const TEST = `import assert from "node:assert/strict";
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

const START = "kserving --driver ./driver.ts --model-path double.linear.json --http-enable";

const README = `# A driver for kserving

\`driver.ts\` loads a model's file and runs it; the server does the rest: checks, batching, threads, all protocols.

    npm test            # runs driver.test.mjs, without any port
    npm start           # ${START}
    npm install && npm run typecheck
`;

/** A driver with a model of its format, and its test. */
export const DRIVER_FILES: Scaffold = {
  start: START,
  files: {
    "driver.ts": DRIVER,
    "driver.test.mjs": TEST,
    "double.linear.json": '{ "weight": 2, "bias": 1 }\n',
    "README.md": README,
  },
};
