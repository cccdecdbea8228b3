import { join } from "node:path";
import { expect, it } from "vitest";
import { IE_SERVING } from "../../../src/cli/foreign/ie-serving.ts";
import { runForeign } from "../../../src/cli/main.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { collectOutput, type Understood, understand } from "./run-in-process.ts";

const MODEL = ["model", "--model_name", "resnet", "--model_path", "/opt/ml/resnet"];

async function understood(argv: readonly string[], env = {}): Promise<Understood> {
  return (await understand(IE_SERVING, argv, env)) as Understood;
}

it("serves one model, with the default port of the time", async () => {
  const { settings, sources } = await understood([...MODEL, "--batch_size", "auto", "--rest_port=8001"]);
  expect(settings).toMatchObject({ port: 9000, httpEnable: true, httpPort: 8001 });
  expect(sources.models).toMatchObject([{ name: "resnet", path: "/opt/ml/resnet", options: { batch_size: "auto" } }]);
});

it("serves the models of a file", async () => {
  const config = { model_config_list: [{ config: { name: "m1", base_path: "/opt/ml/m1", batch_size: "16" } }] };
  const file = join(tempFolder({ "config.json": JSON.stringify(config) }), "config.json");
  const { settings, sources } = await understood(["config", "--config_path", file, "--port", "9001"]);
  expect(settings).toMatchObject({ port: 9001, httpEnable: false });
  expect(sources.files).toEqual([file]);
});

it("reads the environment, which counts less than flags", async () => {
  const env = { DEVICE: "MYRIAD", FILE_SYSTEM_POLL_WAIT_SECONDS: "-1", CPU_EXTENSION: "/lib.so", PLUGIN_DIR: "/p" };
  const { settings, sources, warnings } = await understood([...MODEL, "--target_d", "GPU"], {
    ...env,
    LOG_LEVEL: "DEBUG",
  });
  expect(settings).toMatchObject({ pollIntervalMs: 0, logLevel: "debug" });
  expect(sources).toMatchObject({ options: { extension: "/lib.so" }, models: [{ options: { device: "GPU" } }] });
  expect(warnings).toEqual(["PLUGIN_DIR changes nothing here: OpenVINO is looked for as docs/runtimes.md says."]);
  const loud = await understood(MODEL, { LOG_LEVEL: "LOUD" });
  expect(loud.settings.logLevel).toBe("info");
  const fromEnvironment = await understood(MODEL, { DEVICE: "MYRIAD" });
  expect(fromEnvironment.sources.models).toMatchObject([{ options: { device: "MYRIAD" } }]);
});

it.each([
  [[], "ie_serving: error: argument {config,model}: too few arguments"],
  [["serve"], "ie_serving: error: argument {config,model}: invalid choice: 'serve' (choose from 'config', 'model')"],
  [
    ["model", "--port", "1"],
    "ie_serving model: error: the following arguments are required: --model_name, --model_path",
  ],
  [[...MODEL, "--port", "x"], "ie_serving model: error: argument --port: invalid int value: 'x'"],
  [[...MODEL, "--port"], "ie_serving model: error: argument --port: expected one argument"],
  [[...MODEL, "--layout", "NHWC"], "ie_serving model: error: unrecognized arguments: --layout NHWC"],
  [[...MODEL, "--port", "70000"], 'ie_serving: error: --port is "70000"; expected an integer from 0 to 65535'],
])("%j ends with 2", async (argv, message) => {
  const printed = collectOutput();
  expect(await runForeign("ie_serving", argv, {})).toBe(2);
  expect(printed.stderr).toContain(message);
});

it("has help for itself and for both of its commands", async () => {
  for (const [argv, expected] of [
    [["-h"], "ie_serving config\n"],
    [["model", "--help"], "--model_version_policy"],
    [["config", "-h"], "--config_path"],
  ] as const) {
    const printed = collectOutput();
    expect(await runForeign("ie_serving", argv, {})).toBe(0);
    expect(printed.stdout).toContain(expected);
  }
});
