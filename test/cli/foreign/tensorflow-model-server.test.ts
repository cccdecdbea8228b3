import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { failTensorflow, TENSORFLOW_MODEL_SERVER } from "../../../src/cli/foreign/tensorflow-model-server.ts";
import { runForeign } from "../../../src/cli/main.ts";
import { ServingError } from "../../../src/errors.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { collectOutput, type Understood, understand } from "./run-in-process.ts";

const MODEL = ["--model_name=half_plus_two", "--model_base_path=/models/half_plus_two"];

async function understood(argv: readonly string[], env = {}): Promise<Understood> {
  return (await understand(TENSORFLOW_MODEL_SERVER, argv, env)) as Understood;
}

/** The exit code, and what was printed. */
async function run(argv: readonly string[], env = {}) {
  const printed = collectOutput();
  const code = await runForeign("tensorflow-model-server", argv, env);
  return { code, ...printed };
}

describe("the flags of tensorflow_model_server", () => {
  it("say what the image's entry point says: ports, name and folder", async () => {
    const { settings, sources, warnings } = await understood(["--port=8500", "--rest_api_port=8501", ...MODEL]);
    expect(settings).toMatchObject({ port: 8500, httpEnable: true, httpPort: 8501, host: "0.0.0.0" });
    expect(sources.models).toMatchObject([{ name: "half_plus_two", path: "/models/half_plus_two" }]);
    expect(warnings).toEqual([]);
  });

  it("have the defaults and policies of that server", async () => {
    const { settings, sources } = await understood([MODEL[1] as string]);
    expect(settings).toMatchObject({ port: 8500, httpEnable: false, pollIntervalMs: 1_000, loadRetries: 5 });
    expect(settings).toMatchObject({ allowControl: "local", requireModelSpec: true, failFast: true });
    expect(sources.models).toMatchObject([{ name: "default", versions: { kind: "latest", count: 1 }, options: {} }]);
  });

  it("become settings and options", async () => {
    const session = join(tempFolder({ "session.txt": "allow_soft_placement: true" }), "session.txt");
    const { settings, sources, warnings } = await understood([
      ...MODEL,
      "--rest_api_timeout_in_ms=1500",
      "--rest_api_enable_cors_support",
      "--file_system_poll_wait_seconds=0",
      "--max_num_load_retries=0",
      "--load_retry_interval_micros=500000",
      "--num_load_threads=0",
      "--allow_version_labels_for_unavailable_models=true",
      "--enable_serialization_as_tensor_content",
      "--saved_model_tags=serve,gpu",
      "--tensorflow_session_parallelism=3",
      "--per_process_gpu_memory_fraction=0.25",
      "--enable_batching",
      `--tensorflow_session_config_file=${session}`,
    ]);
    expect(settings).toMatchObject({ requestTimeoutMs: 1_500, corsOrigins: ["*"], pollIntervalMs: 0, loadRetries: 0 });
    expect(settings).toMatchObject({
      loadRetryMs: 500,
      loadThreads: 1,
      allowLabelsForUnavailable: true,
      tensorContent: true,
    });
    expect(sources.options).toEqual({
      tags: "serve,gpu",
      intra_op_threads: "3",
      inter_op_threads: "3",
      gpu_memory_fraction: "0.25",
      max_batch_size: "1000",
      max_request_rows: "1000",
      max_enqueued_batches: "10",
      batch_timeout_us: "0",
      session_config: "allow_soft_placement: true",
    });
    expect(warnings).toEqual([]);
  });

  it("open a Unix socket and limit connections, also without a port", async () => {
    const argv = [
      "--port=0",
      "--grpc_socket_path=/run/tf.sock",
      "--grpc_channel_arguments=grpc.max_connection_age_ms=2000,a.b=c",
    ];
    const { settings, warnings } = await understood([...MODEL, ...argv]);
    expect(settings).toMatchObject({
      port: 0,
      grpcSocketOnly: true,
      grpcSocketPath: "/run/tf.sock",
      grpcChannelArguments: ["grpc.max_connection_age_ms=2000", "a.b=c"],
    });
    expect(warnings).toEqual([]);
  });

  it("read a batching file for whatever model there is", async () => {
    const file = join(
      tempFolder({ "batching.txt": "max_batch_size { value: 8 }\nnum_batch_threads { value: 4 }" }),
      "batching.txt",
    );
    const argv = [...MODEL, "--enable_batching=true", `--batching_parameters_file=${file}`];
    const { sources, warnings } = await understood(argv);
    expect(sources.options).toMatchObject({ max_batch_size: "8" });
    expect(warnings).toEqual([expect.stringContaining('batching.txt:2:1: "num_batch_threads" changes nothing here')]);
  });

  it("have each version's own parameters of batching in place of the file's, where they say so", async () => {
    const perVersion = "--enable_per_model_batching_parameters=true";
    const { settings, sources, warnings } = await understood([...MODEL, "--enable_batching", perVersion]);
    expect(settings.versionBatching).toBe(true);
    expect([sources.options, warnings]).toEqual([{}, []]);
    expect((await understood([...MODEL, perVersion])).settings.versionBatching).toBe(false);
  });

  it.each([
    [["--enable_model_warmup=false", "--num_request_iterations_for_warmup=3"], 0],
    [["--num_request_iterations_for_warmup=3", "--enable_model_warmup=true"], 3],
    [["--num_request_iterations_for_warmup=0"], 1],
  ])("say how often the requests of a SavedModel are run: %j", async (argv, runs) => {
    const { settings, warnings } = await understood([...MODEL, ...argv]);
    expect([settings.savedModelWarmup, warnings]).toEqual([runs, []]);
  });

  it("compare the method names of signatures where they say so", async () => {
    const { settings, warnings } = await understood([...MODEL, "--enable_signature_method_name_check"]);
    expect([settings.checkMethodNames, warnings]).toEqual([true, []]);
  });

  it("read the file of the models in place of name and path, once or again and again", async () => {
    const config = 'model_config_list { config { name: "a" base_path: "/a" model_platform: "tensorflow" } }';
    const file = join(tempFolder({ "models.config": config }), "models.config");
    const once = await understood([...MODEL, `--model_config_file=${file}`]);
    expect(once.sources).toMatchObject({ models: [], files: [file], keepsFiles: true });
    const polled = await understood([`--model_config_file=${file}`, "--model_config_file_poll_wait_seconds=30"]);
    expect(polled.sources).not.toHaveProperty("keepsFiles");
  });

  it("change nothing but for one warning where they mean nothing here", async () => {
    collectOutput();
    const { warnings } = await understood([...MODEL, "--grpc_max_threads=9", "--enable_profiler=true", "--port", "9"]);
    expect(warnings).toEqual([
      "--grpc_max_threads changes nothing here: one event loop serves all connections.",
      '--port takes its value behind "=": --port=VALUE',
    ]);
  });

  it("name a file of metrics, which says their path", async () => {
    const folder = tempFolder({
      "usual.txt": 'prometheus_config { enable: true, path: "/monitoring/prometheus/metrics" }',
      "other.txt": 'prometheus_config: { enable: true path: "/m" }',
      "off.txt": 'prometheus_config { path: "/m" }',
      "odd.txt": "prometheus { }",
    });
    const flag = (name: string) => `--monitoring_config_file=${join(folder, name)}`;
    const pathOf = async (name: string) => (await understood([...MODEL, flag(name)])).settings.tensorflowMetricsPath;
    const usual = "/monitoring/prometheus/metrics";
    expect([await pathOf("usual.txt"), await pathOf("other.txt"), await pathOf("off.txt")]).toEqual([
      usual,
      "/m",
      usual,
    ]);
    await expect(pathOf("none.txt")).rejects.toThrow("none.txt");
    await expect(pathOf("odd.txt")).rejects.toThrow('The monitoring_config_file has no key "prometheus"');
  });

  it("count before our environment variables, and their absence does not", async () => {
    const env = { KSERVING_PORT: "7000", KSERVING_MAX_QUEUE: "5", KSERVING_ALLOW_CONTROL: "off" };
    expect((await understood(MODEL, env)).settings).toMatchObject({ port: 7000, maxQueue: 5, allowControl: "off" });
    expect((await understood(["--port=1", ...MODEL], env)).settings.port).toBe(1);
  });
});

describe("MODEL_NAME and MODEL_BASE_PATH", () => {
  it("say what is served where no flag does, over HTTP too", async () => {
    const { settings, sources } = await understood([], { MODEL_NAME: "half_plus_two" });
    expect(sources.models).toMatchObject([{ name: "half_plus_two", path: "/models/half_plus_two" }]);
    expect(settings).toMatchObject({ port: 8500, httpPort: 8501 });
    const other = await understood(["--rest_api_port=0"], { MODEL_BASE_PATH: "/srv" });
    expect(other.sources.models).toMatchObject([{ name: "model", path: "/srv/model" }]);
    expect(other.settings.httpEnable).toBe(false);
  });

  it("count less than flags", async () => {
    const { sources } = await understood(["--model_base_path=/m"], { MODEL_NAME: "x", MODEL_BASE_PATH: "/srv" });
    expect(sources.models).toMatchObject([{ name: "default", path: "/m" }]);
  });
});

describe("a command line that tensorflow_model_server does not take", () => {
  const INVALID = "Failed to start server. Error: INVALID_ARGUMENT: ";

  it.each([
    [[], "Both server_options.model_base_path and server_options.model_config_file are empty!"],
    [
      ["--port=0", ...MODEL],
      "At least one of server_options.grpc_port or server_options.grpc_socket_path must be set.",
    ],
    [
      ["--batching_parameters_file=b", ...MODEL],
      "server_options.batching_parameters_file is set without setting server_options.enable_batching to true.",
    ],
    [
      ["--model_base_path=models/m"],
      "Expected model default to have an absolute path or URI; got base_path()=models/m",
    ],
    [["--rest_api_port=70000", ...MODEL], '--rest_api_port is "70000"; expected an integer from 0 to 65535'],
    [["--model_config_file=/nowhere.config"], undefined],
  ])("%j", async (argv, message) => {
    const { code, stdout } = await run(argv);
    expect(stdout).toContain(
      message === undefined ? "Failed to start server. Error: FAILED_PRECONDITION" : `${INVALID}${message}`,
    );
    expect(code).toBe(255);
  });

  it("has values of other types: each is reported, then the usage", async () => {
    const { code, stdout, stderr } = await run(["--port=eight", "--enable_batching=yes"]);
    expect(stderr).toBe(
      "Couldn't interpret value eight for flag port.\nCouldn't interpret value yes for flag enable_batching.\n",
    );
    expect(stdout).toMatch(/^usage: tensorflow_model_server\nFlags:\n\t--port=8500 +\tint32\t/);
    expect(code).toBe(255);
  });

  it("has an unknown word: it is reported with the usage, and the start continues", async () => {
    const { stdout } = await run(["--nope", "--model_base_path=relative"]);
    expect(stdout).toMatch(/^unknown argument: --nope\nusage: /);
    expect(stdout).toContain("Expected model default to have an absolute path");
  });

  it.each([
    [
      "model_config_list { config { name: 3x } }",
      /^Error parsing text-format tensorflow.serving.ModelServerConfig: 1:\d+: /,
    ],
    ["model_config_list { config { name:", /^Error parsing text-format tensorflow.serving.ModelServerConfig: 1:\d+: /],
    ["model_config_list { confg {} }", /^Error parsing text-format tensorflow.serving.ModelServerConfig: 1:\d+: /],
  ])("has a file with a syntax error: %s", async (text, expected) => {
    const file = join(tempFolder({ "models.config": text }), "models.config");
    const { code, stdout, stderr } = await run([`--model_config_file=${file}`]);
    expect(stderr).toMatch(expected);
    expect(stdout).toBe(`Failed to start server. Error: INVALID_ARGUMENT: Invalid protobuf file: '${file}'\n`);
    expect(code).toBe(255);
  });

  it.each([
    [
      'name: "a" base_path: "a" model_platform: "tensorflow"',
      "Expected model a to have an absolute path or URI; got base_path()=a",
    ],
    ['name: "a" base_path: "/a"', "Illegal setting neither ModelServerConfig::model_type (deprecated) nor"],
    ['name: "a" base_path: "/a" model_platform: "caffe"', "Model a requests unsupported platform caffe"],
  ])("has a file with a model that cannot be served: %s", async (config, message) => {
    const file = join(tempFolder({ "models.config": `model_config_list { config { ${config} } }` }), "models.config");
    const { code, stdout } = await run([`--model_config_file=${file}`]);
    expect(stdout).toContain(`${INVALID}${message}`);
    expect(code).toBe(255);
  });

  it("has a file with a model twice", async () => {
    const config = 'config { name: "a" base_path: "/a" model_platform: "tensorflow" }';
    const file = join(tempFolder({ "models.config": `model_config_list { ${config} ${config} }` }), "models.config");
    const { stdout, stderr } = await run([`--model_config_file=${file}`]);
    expect(stdout).toBe(`${INVALID}Illegal to list model a multiple times in config list\n`);
    expect(stderr).toBe("");
  });
});

it("help and version print to standard output", async () => {
  expect(await run(["--help"])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^usage: /) });
  const { code, stdout } = await run(["--version", "--port=1"]);
  expect(stdout).toMatch(/^TensorFlow ModelServer: kserving \d+\.\d+\.\d+\nTensorFlow Library: /);
  expect(code).toBe(0);
});

it("any other failure has its code in that server's words", () => {
  const printed = collectOutput();
  expect(failTensorflow(new ServingError("unavailable", "port 8500 is in use"), { failed: [] })).toBe(255);
  expect(printed.stdout).toBe("Failed to start server. Error: UNAVAILABLE: port 8500 is in use\n");
});
