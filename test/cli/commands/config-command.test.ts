import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { runCommand } from "./run-command.ts";

const check = (...files: readonly string[]) => runCommand(["config", "check", ...files]);

test("config check says what would be served, and what changes nothing", async () => {
  const folder = tempFolder({
    "serving.yaml":
      "http-port: 8080\nmodels:\n  - { name: emotion, path: emotion, labels: { stable: 1 }, batching: { max_batch_size: 8 } }\n",
    "models.config":
      'model_config_list { config { name: "e" base_path: "FOLDER/emotion" model_platform: "onnx" logging_config {} } }',
    "batching.txt": "max_batch_size { value: 8 }",
    "emotion/1/model.onnx": "",
    "emotion/2/model.onnx": "",
  });
  writeFileSync(
    join(folder, "models.config"),
    readFileSync(join(folder, "models.config"), "utf8").replace("FOLDER", folder),
  );
  const files = ["serving.yaml", "models.config", "batching.txt", "emotion"].map((name) => join(folder, name));
  const { code, stdout, stderr } = await check(...files);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const lines = stdout
    .replaceAll(folder, "")
    .replace(/:1:\d+:/, ":1:9:")
    .trim()
    .split("\n");
  expect(lines.map((line) => line.replace(/ {2,}/g, " | "))).toEqual([
    "/serving.yaml is kserving's configuration.",
    "Model | Driver | Path | Versions | Options",
    "emotion | onnx | /emotion | 2 (latest 1 of 2); stable = 1 | max_batch_size=8",
    "Settings: http-port",
    "warning: The label stable of emotion points to version 1, which is not served; expected one of 2.",
    "/models.config is TensorFlow Serving's model_config_file.",
    "Model | Driver | Path | Versions | Options",
    "e | onnx | /emotion | 2 (latest 1 of 2) | -",
    "warning: /models.config:1:9: logging_config of e has no log_collector_config with a filename_prefix: requests are recorded with --request-log.",
    "/batching.txt is TensorFlow Serving's batching_parameters_file.",
    "Options of all TensorFlow models: max_batch_size=8 max_request_rows=8 max_enqueued_batches=10 batch_timeout_us=0",
    "/emotion is a folder of models.",
    "Model | Driver | Path | Versions | Options",
    "emotion | onnx | /emotion | 2 (latest 1 of 2) | -",
  ]);
});

test("config check has models, warnings and errors in JSON", async () => {
  const folder = tempFolder({
    "a.yaml":
      "http-port: 8080\nmodels: [{ name: m, path: m, labels: { stable: 1 } }, { name: n, path: m, hooks: no.ts }]",
    "b.yaml": "http-prot: 1\n",
    "m/2/model.onnx": "",
  });
  const [a, b] = [join(folder, "a.yaml"), join(folder, "b.yaml")];
  const { code, stdout } = await check(a, b, "--json");
  const found = { driver: "onnx", path: join(folder, "m"), versions: ["2"], available: ["2"], options: {} };
  expect([code, JSON.parse(stdout)]).toEqual([
    1,
    [
      {
        ...{ path: a, format: "kserving's configuration", settings: ["http-port"] },
        models: [
          { ...found, name: "m", labels: { stable: "1" } },
          {
            ...found,
            name: "n",
            labels: {},
            problem: expect.stringMatching(/^The hook file ".*no\.ts" does not exist/),
          },
        ],
        warnings: [expect.stringMatching(/^The label stable of m points to version 1, which is not served/)],
      },
      { path: b, errors: [expect.stringMatching(/b\.yaml:1:1: There is no setting "http-prot"\. Did you mean/)] },
    ],
  ]);
});

test("config check names everything that is wrong in every file, and ends with the code for wrong usage", async () => {
  const folder = tempFolder({
    "a.yaml": "http-prot: 1\nhttps: 2\n",
    "b.yaml": "http-port: many\n",
    "c.yaml": "models: []",
  });
  const { code, stdout, stderr } = await check(join(folder, "a.yaml"), join(folder, "b.yaml"), join(folder, "c.yaml"));
  expect(code).toBe(2);
  expect(stderr).toMatch(/^kserving: Not every file can be read; the errors are listed above\./);
  expect(stdout.replaceAll(`${folder}/`, "").split("\n")).toEqual([
    expect.stringMatching(/^error: a.yaml:1:1: There is no setting "http-prot"\. Did you mean "http-port"\?/),
    expect.stringMatching(/^error: a.yaml:2:1: There is no setting "https"\./),
    'error: b.yaml:1:1: http-port is "many"; expected an integer from 0 to 65535 (0 picks a free port).',
    "c.yaml is kserving's configuration.",
    "",
  ]);
});

test("config check ends with a failure where a model cannot be served", async () => {
  const folder = tempFolder({ "a.yaml": "models: [{ name: a, path: 'hdfs://host/a' }]" });
  const { code, stdout } = await check(join(folder, "a.yaml"));
  expect(code).toBe(1);
  expect(stdout).toContain("not served: a: hdfs://host/a is not on this machine");
});

test.each([
  [["config"], "A command is missing; expected check PATH, show or schema."],
  [["config", "chek"], "unknown command 'chek'"],
  [["config", "check"], "The argument path is missing"],
])("%j is refused", async (args, message) => {
  const { code, stderr } = await runCommand(args);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});

test("config check names the files that are not there", async () => {
  const folder = tempFolder({
    "a.yaml": `models:
  - { name: a, stages: [{ path: a.onnx }, { path: b.onnx }], hooks: hooks.ts, warmup: [random, one.json] }
  - { name: m, path: m, stages: [{ path: a.onnx }] }
`,
    "a.onnx": "",
    "m/1/a.onnx": "",
    "triton/n/config.pbtxt": 'output { name: "y" data_type: TYPE_FP32 label_filename: "names.txt" }',
    "triton/n/1/a.onnx": "",
  });
  const { code, stdout } = await check(join(folder, "a.yaml"));
  expect(code).toBe(1);
  expect(stdout.replaceAll(`${folder}/`, "").match(/^not served.*$/gm)).toEqual([
    'not served: a: The model of stage 2 "b.onnx" does not exist. The hook file "hooks.ts" does not exist. The warm-up request "one.json" does not exist.',
  ]);
  expect((await check(join(folder, "triton"))).stdout).toMatch(
    /^not served: n: The file of labels ".*" does not exist/m,
  );
});

test("config check refuses stages of models that no file has, or that need one another in a circle", async () => {
  const folder = tempFolder({
    "a.yaml": "models: [{ name: a, stages: [{ model: b }] }, { name: lost, stages: [{ model: dd }] }]",
    "b.yaml": "models: [{ name: b, stages: [{ model: a }] }, { name: d, driver: 'null' }]",
    "c.yaml": "models: [{ name: c, stages: [{ model: d }, { driver: 'null' }] }]",
    "d.yaml": "models: [{ name: e, stages: [{ model: d, driver: 'null' }] }]",
  });
  const { code, stdout } = await check(...["a.yaml", "b.yaml", "c.yaml"].map((name) => join(folder, name)));
  expect(code).toBe(1);
  expect(stdout.split("\n").filter((line) => line.startsWith("not served"))).toEqual([
    "not served: a: The stages of a need one another in a circle: a → b → a; leave one of them out.",
    expect.stringMatching(/^not served: lost: A stage of lost is the model "dd", which is not described. Did you mean/),
    "not served: b: The stages of b need one another in a circle: b → a → b; leave one of them out.",
  ]);
  expect(stdout).toMatch(/^c +served → null +model d → -/m);
  expect((await check(join(folder, "d.yaml"))).stdout).toContain('Stage 1 has the model "d" and a key "driver"');
});

test("config check shows splits and shadows, and refuses those that cannot be", async () => {
  const folder = tempFolder({
    "a.yaml": [
      "models:",
      "  - { name: a, driver: 'null', split: { a: 90, b: 10 }, sticky: X-User, shadow: { model: b, share: 0.5 } }",
      "  - { name: b, driver: 'null', split: { bb: 1 } }",
    ].join("\n"),
    "b.yaml": "models:\n  - { name: c, driver: 'null', split: { 1: 0 } }",
    "c.yaml": "models:\n  - { name: d, driver: 'null', split: { 1: -1 }, shadow: { versoin: 1 } }",
  });
  const good = await check(join(folder, "a.yaml"));
  expect(good.stdout).toContain("1; split a = 90, b = 10 by x-user; shadow b (50 %)");
  expect(good.stdout).toContain(
    'not served: b: The split or shadow of b names the model "bb", which is not described.',
  );
  const weightless = await check(join(folder, "b.yaml"));
  expect(weightless.stdout).toContain('The model "c": split has no weight over 0');
  const misspelt = await check(join(folder, "c.yaml"));
  expect(misspelt.stdout).toContain('"1" is "-1"; expected a number of 0 or more.');
  expect(misspelt.stdout).toContain('"shadow" has no key "versoin". Did you mean "version"?');
});
