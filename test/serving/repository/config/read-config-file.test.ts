import { execFileSync } from "node:child_process";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { readConfigFile } from "../../../../src/serving/repository/config/read-config-file.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";

const SETTINGS = ["http-port", "log-level", "auth-users", "auth-rules"];

/** Reads a text as the file `config` of a new folder. */
async function read(text: string) {
  const folder = tempFolder({ config: text });
  const file = await readConfigFile(join(folder, "config"), SETTINGS);
  return { ...file, folder, warnings: file.warnings.map((each) => each.replace(join(folder, "config"), "config")) };
}

/** The message with which a text is refused, the file called `config`. */
async function refusal(text: string): Promise<string> {
  const folder = tempFolder({ config: text });
  const reason = await readConfigFile(join(folder, "config"), SETTINGS).catch((each: unknown) => each);
  expect(reason).toMatchObject({ code: "invalid_argument" });
  return (reason as Error).message.replaceAll(join(folder, "config"), "config");
}

const LATEST = { kind: "latest", count: 1 };

describe("a configuration of our own", () => {
  test("may begin with lines of comments and space, whatever they say, before its first key", async () => {
    const comments = `# model_config_list { of another server\n${"\n".repeat(60)}# max_batch_size: 8\n`;
    const { format } = await read(`${comments}---\nmodels:\n  - { name: a, path: a.onnx }\n`);
    expect(format).toBe("kserving's configuration");
    const { format: json } = await read(`${comments}{ "models": [{ "name": "a", "path": "a.onnx" }] }`);
    expect(json).toBe("kserving's configuration");
  });

  test("describes models by their paths, which go out from the file", async () => {
    const { format, models, settings, folder } = await read(`
http-port: 8080
models:
  - name: emotion
    path: models/emotion
    versions: { latest: 2 }
    labels: { stable: 3, canary: 4 }
    options: { intra_op_threads: 2 }
    batching: { max_batch_size: 8 }
    images: { layout: NCHW, mean: "1,2,3" }
    instances: 2
    warmup: random
  - name: faces
    stages:
      - { driver: onnx, path: face.onnx, options: { device_id: 1 } }
      - driver: ./driver.ts
    hooks: hooks/faces.ts
    versions: all
    workers: 0
    warmup: [one.json, { request: random, count: 2 }]
`);
    expect(format).toBe("kserving's configuration");
    expect(settings).toMatchObject([{ key: "http-port", value: { text: "8080" } }]);
    expect(models).toEqual([
      {
        name: "emotion",
        path: join(folder, "models/emotion"),
        versions: { kind: "latest", count: 2 },
        labels: new Map([
          ["stable", 3n],
          ["canary", 4n],
        ]),
        options: { intra_op_threads: "2", max_batch_size: "8", layout: "NCHW", mean: "1,2,3" },
        instances: 2,
        warmUp: [{ kind: "random", count: 1 }],
      },
      {
        name: "faces",
        stages: [
          { driver: "onnx", path: join(folder, "face.onnx"), options: { device_id: "1" } },
          { driver: join(folder, "driver.ts") },
        ],
        hooks: join(folder, "hooks/faces.ts"),
        versions: { kind: "all" },
        labels: new Map(),
        options: {},
        warmUp: [
          { kind: "file", path: join(folder, "one.json"), count: 1 },
          { kind: "random", count: 2 },
        ],
        workers: 0,
      },
    ]);
  });

  test("may be JSON, and may say where its schema lies", async () => {
    const { models } = await read(
      '{"$schema": "x.json", "models": [{"name": "a", "driver": "null", "versions": [3, 1]}]}',
    );
    expect(models).toMatchObject([{ name: "a", driver: "null", versions: { kind: "specific", versions: [3n, 1n] } }]);
  });

  test("with a model elsewhere is read, and the model refused", async () => {
    const { models } = await read("models: [{ name: a, path: 'hdfs://bucket/a' }]");
    expect(models[0]?.refusal).toContain("hdfs://bucket/a is not on this machine");
  });

  test("with a model outside of a volume is read, and the model refused", async () => {
    const { models } = await read("models: [{ name: a, path: 'pvc://no-such-claim/../a' }, { name: b, path: b }]");
    expect(models[0]?.refusal).toContain('the name "../a" cannot be a file\'s below its folder');
    expect(models[1]?.refusal).toBeUndefined();
  });

  test("keeps a stage's path that is relative to its version", async () => {
    const { models, folder } = await read("models: [{ name: a, path: faces, stages: [{ path: face.onnx }] }]");
    expect(models).toMatchObject([{ path: join(folder, "faces"), stages: [{ path: "face.onnx" }] }]);
  });

  test.each([
    ["an unknown setting", "http-prot: 1\n", 'config:1:1: There is no setting "http-prot". Did you mean "http-port"?'],
    [
      "an unknown key",
      "models:\n  - name: a\n    pth: x\n",
      'config:3:5: "models" has no key "pth". Did you mean "path"?',
    ],
    [
      "a model without a name",
      "models:\n  - path: x\n",
      'config:2:5: "models" lacks the key "name": the name under which',
    ],
    ["a model without a path", "models:\n  - name: a\n", 'The model "a" has neither path, driver nor stages'],
    [
      "driver and stages",
      "models: [{ name: a, driver: onnx, stages: [{ path: x }] }]",
      'The model "a" has both driver and stages',
    ],
    [
      "two models of one name",
      "models:\n  - { name: a, path: x }\n  - { name: b, path: x }\n  - { path: y, name: a }\n  - { name: a, path: z }",
      "config:4:22: Illegal to list model a multiple times in config list; expected each name once.\nconfig:5:13: Illegal",
    ],
    [
      "a policy that is none",
      "models: [{ name: a, path: x, versions: newest }]",
      '"versions" is "newest"; expected all, latest,',
    ],
    [
      "a policy with a misspelt key",
      "models: [{ name: a, path: x, versions: { latst: 2 } }]",
      '"versions" is {"latst":2}; expected all, latest,',
    ],
    [
      "a misspelt first key of a model_config_file",
      "model_config_lst { config { name: 'a' } }",
      'config:1:1: The model_config_file has no key "model_config_lst". Did you mean "model_config_list"?',
    ],
    ["a label to no version", "models: [{ name: a, path: x, labels: { b: new } }]", '"b" is "new"; expected a version'],
    [
      "a warm-up without a request",
      "models: [{ name: a, path: x, warmup: { count: 2 } }]",
      "expected random, a request",
    ],
    ["a warm-up of no times", "models: [{ name: a, path: x, warmup: [{ request: r, count: 0 }] }]", "expected random"],
    ["a label beyond 2^63", "models: [{ name: a, path: x, labels: { b: 9223372036854775808 } }]", "expected a version"],
    [
      "a number of copies that is none",
      "models: [{ name: a, path: x, instances: 0 }]",
      '"instances" is "0"; expected an integer of 1 or more.',
    ],
    [
      "an unknown key of batching",
      "models: [{ name: a, path: x, batching: { max_batchsize: 8 } }]",
      'Did you mean "max_batch_size"?',
    ],
    [
      "auth without keys",
      "auth: users.txt\n",
      'config:1:7: "auth" is not a mapping; expected keys with values: users, rules.',
    ],
    ["a misspelt key of auth", "auth:\n  user: u\n", 'config:2:3: "auth" has no key "user". Did you mean "users"?'],
    [
      "a setting that stands in auth and beside it",
      "auth: { users: u }\nauth-users: v\n",
      'config:2:1: "auth-users" is given a second time',
    ],
    ["models that are none", "models: 5\n", 'config:1:9: "models" is "5"; expected keys with values'],
    ["a file without keys", "- a\n", "config:1:1: The file holds no keys"],
    ["an empty file", "", "config:1:1: The file is empty"],
    ["half a file", '{"models": [{"name": "a", ', "config:1:"],
  ])("%s is refused with its place", async (_, text, message) => {
    expect(await refusal(text)).toContain(message);
  });

  test("may have the settings of authentication as a mapping", async () => {
    const { settings } = await read("auth:\n  users: users.txt\n  rules: rules.yaml\nlog-level: debug\n");
    expect(settings).toMatchObject([
      { key: "auth-users", place: { line: 2, column: 3 }, value: { text: "users.txt" } },
      { key: "auth-rules", value: { text: "rules.yaml" } },
      { key: "log-level" },
    ]);
  });

  test("all errors are reported together", async () => {
    const message = await refusal("a: 1\nb: 2\nmodels: [{ name: x }]\n");
    expect(message.split("\n")).toHaveLength(3);
  });
});

describe("TensorFlow Serving's model_config_file", () => {
  test("is read with its policies, labels and odd forms", async () => {
    const { models, warnings } = await read(`
# models
model_config_list: {
  config: { name: 'one', base_path: '/models/one', model_platform: "tensorflow",
    model_version_policy { specific { versions: 42 versions: [43] } }
    version_labels { key: 'stable' value: 43 } version_labels { key: "canary", value: 42 } },
  config < name: "tw" "o" base_path: "/models/two" model_type: TENSORFLOW model_version_policy: { all {} } >;
  config { name: "three" base_path: "/m" model_platform: "tensorflow" model_version_policy { latest { num_versions: 2 } }
    logging_config { log_collector_config { type: "x" filename_prefix: "/logs/t" } sampling_config { sampling_rate: 0.1 } }
    [my.extension]: 5 }
}`);
    expect(models).toMatchObject([
      {
        name: "one",
        path: "/models/one",
        driver: "tensorflow",
        versions: { kind: "specific", versions: [42n, 43n] },
        labels: new Map([
          ["stable", 43n],
          ["canary", 42n],
        ]),
      },
      { name: "two", driver: "tensorflow", versions: { kind: "all" } },
      { name: "three", versions: { kind: "latest", count: 2 }, requestLog: { prefix: "/logs/t", rate: 0.1 } },
    ]);
    expect(warnings).toEqual(["config:10:5: The extension [my.extension] is ignored."]);
  });

  test.each([
    [
      'name: "a" base_path: "m" model_platform: "tensorflow"',
      "Expected model a to have an absolute path or URI; got base_path()=m",
    ],
    ['name: "a" base_path: "/m"', "Illegal setting neither ModelServerConfig::model_type"],
    ['name: "a" base_path: "/m" model_platform: "caffe"', "Model a requests unsupported platform caffe"],
    ['name: "a" base_path: "hdfs://b/m" model_platform: "tensorflow"', "hdfs://b/m is not on this machine"],
  ])("has a model refused in its words: %s", async (fields, refused) => {
    const { models } = await read(
      `model_config_list { config { ${fields} } config { name: "b" base_path: "/b" model_platform: "tensorflow" } }`,
    );
    expect(models[0]?.refusal).toContain(refused);
    expect(models[1]?.refusal).toBeUndefined();
  });

  test.each([
    ['model_config_list { config { nme: "a" base_path: "/m" } }', '"config" has no key "nme". Did you mean "name"?'],
    [
      'model_config_list { config { name: a base_path: "/m" } }',
      '"name" is a, without quotes; expected a text in quotes.',
    ],
    ['model_config_list { config { name: "a" name: "b" base_path: "/m" } }', '"name" is given a second time'],
    ["model_config_list { config {", "the end of the file is not a field's name"],
    ['model_config_list { config: "a" }', '"config" is "a"; expected keys with values'],
  ])("that is wrong is refused: %s", async (text, message) => {
    expect(await refusal(text)).toContain(message);
  });
});

test("TensorFlow Serving's batching_parameters_file becomes options, and what changes nothing is named", async () => {
  const { batching, warnings } = await read(
    "max_batch_size { value: 8 } batch_timeout_micros { value: 0 }\nallowed_batch_sizes: 2 allowed_batch_sizes: [4, 8]\nnum_batch_threads { value: 4 } pad_variable_length_inputs: true",
  );
  expect(batching).toEqual({
    max_batch_size: "8",
    max_request_rows: "8",
    max_enqueued_batches: "10",
    batch_timeout_us: "0",
    allowed_batch_sizes: "2,4,8",
    pad_variable_length_inputs: "true",
  });
  expect(warnings).toEqual([expect.stringContaining('config:3:1: "num_batch_threads" changes nothing here')]);
});

test.each([
  ["max_execution_batch_size { value: 4 }", { max_batch_size: "4", max_request_rows: "8" }],
  ["", { max_batch_size: "8", max_request_rows: "8" }],
  [
    "max_execution_batch_size { value: 3 } allowed_batch_sizes: [2, 4, 8] max_enqueued_batches { value: 5 }",
    { max_batch_size: "4", max_request_rows: "8", allowed_batch_sizes: "2,4", max_enqueued_batches: "5" },
  ],
])("TensorFlow Serving's batching_parameters_file may split large requests: %s", async (text, options) => {
  const splitting = "max_batch_size { value: 8 } enable_large_batch_splitting { value: true }";
  expect(await read(`${splitting} ${text}`)).toMatchObject({ batching: options, warnings: [] });
});

describe("OpenVINO Model Server's config.json", () => {
  test("is read with what its entries say of the device and the inputs", async () => {
    const { models, warnings, folder } = await read(
      JSON.stringify({
        model_config_list: [
          { config: { name: "a", base_path: "/m/a", batch_size: "16", target_device: "GPU", nireq: 4 } },
          {
            config: {
              name: "b",
              base_path: "b",
              shape: { in: "(1,3,-1,-1)" },
              batch_size: 4,
              layout: "NHWC:NCHW",
              plugin_config: { NUM_STREAMS: 2, PERFORMANCE_HINT: "LATENCY" },
              model_version_policy: { specific: { versions: [1, 3] } },
            },
          },
          { config: { name: "c", base_path: "c", batch_size: "auto", model_version_policy: { all: {} } } },
        ],
        mediapipe_config_list: [],
      }),
    );
    expect(models).toMatchObject([
      { name: "a", path: "/m/a", driver: "openvino", options: { batch_size: "16", device: "GPU" }, versions: LATEST },
      {
        path: join(folder, "b"),
        options: {
          shape: '{"in":"(1,3,-1,-1)"}',
          layout: "NHWC:NCHW",
          plugin_config: '{"NUM_STREAMS":2,"PERFORMANCE_HINT":"LATENCY"}',
        },
        versions: { kind: "specific", versions: [1n, 3n] },
      },
      { options: { batch_size: "auto" }, versions: { kind: "all" } },
    ]);
    expect(models[1]?.options).not.toHaveProperty("batch_size");
    expect(warnings).toEqual([
      expect.stringContaining('"nireq" changes nothing here'),
      expect.stringContaining('"mediapipe_config_list" changes nothing here'),
    ]);
  });

  test.each([
    [
      '{"model_config_list": [{"config": {"name": "a", "base_pth": "/m"}}]}',
      '"config" has no key "base_pth". Did you mean "base_path"?',
    ],
    ['{"model_config_list": [{"config": {"base_path": "/m"}}]}', '"config" lacks the key "name"'],
    ['{"model_config_list": [{"confg": {"base_path": "/m"}}]}', '"model_config_list" lacks the key "config"'],
  ])("that is wrong is refused: %s", async (text, message) => {
    expect(await refusal(text)).toContain(message);
  });

  test.each([
    ['{"newest": {}}', '"model_version_policy" has no key "newest"'],
    ['{"specific": {"versions": ["one"]}}', '"versions"'],
    ['{"latest": {"num_versions": -1}}', '"num_versions"'],
    ['"all"', '"model_version_policy" is'],
    ["[1]", '"model_version_policy" is'],
  ])("has a model with the policy %s refused, and the rest read", async (policy, message) => {
    const bad = `{"config": {"name": "a", "base_path": "/m/a", "model_version_policy": ${policy}}}`;
    const good = '{"config": {"name": "b", "base_path": "/m/b"}}';
    const { models } = await read(`{"model_config_list": [${bad}, ${good}]}`);
    expect(models).toMatchObject([
      { name: "a", refusal: expect.stringContaining(message) },
      { name: "b", versions: LATEST },
    ]);
    expect(models[1]).not.toHaveProperty("refusal");
  });

  test("has graphs and what other libraries load refused, and the rest read", async () => {
    const { models } = await read(
      '{"model_config_list": [{"config": {"name": "g", "base_path": "/g", "graph_path": "g.pbtxt"}}, {"config": {"name": "l", "base_path": "/l", "custom_loader_options": {"loader_name": "x"}}}, {"config": {"name": "n"}}]}',
    );
    expect(models.map(({ refusal: why }) => why?.split(/[,:]/)[0])).toEqual([
      "g is a graph",
      "l is loaded by a custom loader",
      "n has no base_path; expected the folder of its versions",
    ]);
  });
});

test("Simple TensorFlow Serving's model_config_file is told by its flat entries, and its paths go out from the working folder", async () => {
  const net = join(tempFolder({ "net-symbol.json": "{}" }), "net");
  const { format, models, warnings } = await read(
    JSON.stringify({
      model_config_list: [
        { name: "a", base_path: "./models/a", session_config: { allow_growth: true }, custom_op_paths: "/ops,/more" },
        { name: "b", base_path: "/b", platform: "scikitlearn", extra: 1 },
        { name: "c", base_path: "/c", platform: "spark" },
        { name: "e", base_path: "/e.zip", platform: "h2o" },
        { name: "d", base_path: net, platform: "mxnet" },
      ],
    }),
  );
  expect(format).toBe("Simple TensorFlow Serving's model_config_file");
  expect(models).toMatchObject([
    {
      path: resolve("models/a"),
      driver: "tensorflow",
      versions: { kind: "all" },
      options: { session_config: '{"allow_growth":true}', custom_op_paths: "/ops,/more" },
    },
    { driver: "sklearn" },
    { refusal: expect.stringContaining("c is of the platform spark, for which there is no driver") },
    { driver: "h2o" },
    { driver: "mxnet", path: `${net}-symbol.json` },
  ]);
  expect(warnings).toEqual([expect.stringContaining('The key "extra" of "model_config_list" is ignored')]);
});

describe("a file that cannot be read", () => {
  test.each([
    ["is not there", (folder: string) => join(folder, "none"), "does not exist"],
    ["is a folder", (folder: string) => folder, "is a folder"],
    [
      "is a pipe that no program writes to",
      (folder: string) => {
        execFileSync("mkfifo", [join(folder, "pipe")]);
        return join(folder, "pipe");
      },
      "is not a regular file",
    ],
  ])("because it %s says so", async (_, make, message) => {
    const path = make(tempFolder());
    await expect(readConfigFile(path, SETTINGS)).rejects.toThrow(
      expect.objectContaining({
        code: "failed_precondition",
        message: expect.stringContaining(`"${path}" ${message}`),
      }),
    );
  });
});
