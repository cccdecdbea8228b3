import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { OVMS } from "../../../src/cli/foreign/ovms.ts";
import { runForeign } from "../../../src/cli/main.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { collectOutput, type Understood, understand } from "./run-in-process.ts";

const MODEL = ["--model_name", "resnet", "--model_path", "/models/resnet50"];
const PORT = ["--port", "9000"];

async function understood(argv: readonly string[], env = {}): Promise<Understood> {
  return (await understand(OVMS, argv, env)) as Understood;
}

async function run(argv: readonly string[]) {
  const printed = collectOutput();
  const code = await runForeign("ovms", argv, {});
  return { code, ...printed };
}

describe("the flags of ovms", () => {
  it("say what its quick start says", async () => {
    const { settings, sources, warnings } = await understood([
      ...MODEL,
      "--layout",
      "NHWC:NCHW",
      "--plugin_config",
      '{"PERFORMANCE_HINT": "LATENCY"}',
      ...PORT,
      "--rest_port",
      "8000",
    ]);
    expect(settings).toMatchObject({ port: 9000, httpEnable: true, httpPort: 8000, allowControl: "local" });
    expect(sources.models).toMatchObject([
      {
        name: "resnet",
        path: "/models/resnet50",
        driver: "openvino",
        options: { layout: "NHWC:NCHW", plugin_config: '{"PERFORMANCE_HINT":"LATENCY"}' },
      },
    ]);
    expect(warnings).toEqual([]);
  });

  it("describe the model as its config.json does", async () => {
    const { settings, sources } = await understood([
      "--model_name=m",
      "--model_path=models/m",
      ...["--shape", '{"a": "(1,3,-1,-1)"}', "--target_device", "GPU", "--mean", "[1,2]", "--scale=[3]"],
      ...["--layout=NHWC", "--color_format", "RGB:BGR", "--model_version_policy", '{"specific": {"versions": [1, 3]}}'],
      ...["--cache_dir", "/cache", "--cpu_extension", "/lib.so", "--file_system_poll_wait_seconds", "0"],
      ...["--log_level", "WARNING", "--rest_port", "8000", "--rest_bind_address", "127.0.0.1"],
    ]);
    expect(sources.models).toMatchObject([
      {
        path: resolve("models/m"),
        options: {
          shape: '{"a": "(1,3,-1,-1)"}',
          device: "GPU",
          mean: "1,2",
          scale: "3",
          layout: "NHWC",
          color_format: "RGB",
        },
        versions: { kind: "specific", versions: [1n, 3n] },
      },
    ]);
    expect(sources.options).toEqual({ cache_dir: "/cache", extension: "/lib.so" });
    expect(settings).toMatchObject({
      pollIntervalMs: 0,
      logLevel: "warn",
      host: "127.0.0.1",
      port: 8000,
      httpPort: 8000,
    });
  });

  it("name a file of models, or the folder that it is in", async () => {
    const config = { model_config_list: [{ config: { name: "m", base_path: "/m" } }] };
    const folder = tempFolder({ "config.json": JSON.stringify(config) });
    for (const path of [folder, join(folder, "config.json")]) {
      const { sources } = await understood(["--config_path", path, ...PORT]);
      expect(sources).toMatchObject({ models: [], files: [join(folder, "config.json")] });
      expect(sources).not.toHaveProperty("keepsFiles");
    }
  });

  it("change nothing but for one warning where they mean nothing here", async () => {
    const { warnings } = await understood([...MODEL, ...PORT, "--nireq", "4", "--grpc_workers", "1", "--stateful"]);
    expect(warnings).toEqual([
      "--nireq changes nothing here: as many requests run side by side as the device has streams (NUM_STREAMS in plugin_config).",
      "--stateful changes nothing here: a stateful model is recognised by its file.",
    ]);
  });
});

describe("a command line that ovms does not take ends with 64", () => {
  it.each([
    [[...MODEL, "--port"], "error parsing options: Option ‘port’ is missing an argument"],
    [[...MODEL, "--port", "x"], "error parsing options: Argument ‘x’ failed to parse"],
    [[...MODEL, ...PORT, "--nope", "1"], "error parsing options - unmatched arguments: --nope, 1, "],
    [MODEL, "port and rest_port cannot both be unset"],
    [[...MODEL, ...PORT, "--rest_port", "9000"], "port and rest_port cannot have the same values"],
    [[...MODEL, "--port", "70000"], "port number out of range from 0 to 65535"],
    [[...PORT, "--model_name", "m"], "Use config_path or model_path with model_name"],
    [[...PORT, ...MODEL, "--config_path", "c"], "Use either config_path or model_path with model_name"],
    [[...PORT, "--config_path", "c", "--shape", "auto"], "Model parameters in CLI are exclusive with the config file"],
    [[...PORT, ...MODEL, "--metrics_enable"], "rest_port setting is missing, metrics are enabled on rest port"],
    [[...PORT, ...MODEL, "--log_level", "LOUD"], "log_level should be one of: TRACE, DEBUG, INFO, WARNING, ERROR"],
    [[...PORT, ...MODEL, "--mean", "1"], "error parsing options - --mean parameter requires --layout to be set"],
    [[...PORT, ...MODEL, "--plugin_config", "{x"], "--plugin_config is {x; expected a JSON object."],
    [
      ["--pull", "--source_model", "m", "--model_repository_path", "models"],
      "--pull is not taken: models are not pulled into a folder here; model_path takes an address (docs/storage.md).",
    ],
    [
      [...PORT, ...MODEL, "--grpc_bind_address", "127.0.0.1", "--rest_bind_address", "::1"],
      "gRPC and HTTP listen on one address here, not on 127.0.0.1 and ::1; expected the same one for both.",
    ],
    [
      [...PORT, ...MODEL, "--model_version_policy", '{"newest": {}}'],
      'has no key "newest". Expected some of latest, all, specific',
    ],
  ])("%j", async (argv, message) => {
    const { code, stderr } = await run(argv);
    expect(stderr).toContain(message);
    expect(code).toBe(64);
  });
});

it("a file that does not exist ends with 1, and a line of the log", async () => {
  const { code, stdout } = await run(["--config_path", "/nowhere.json", ...PORT]);
  expect(stdout).toMatch(/^\[[^\]]+\]\[\d+\]\[serving\]\[error\]\[kserving\] .*nowhere.json/);
  expect(code).toBe(1);
});

it("help is printed for no arguments too", async () => {
  for (const argv of [[], ["--help"], ["-h"]]) {
    const { code, stdout } = await run(argv);
    expect(stdout).toMatch(/^OpenVINO Model Server\nUsage:\n {2}ovms \[OPTION...\]\n/);
    expect(stdout).toContain("--rest_port REST_PORT");
    expect(code).toBe(0);
  }
});
