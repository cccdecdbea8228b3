import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { toModelSources } from "../../../src/cli/commands/model-sources.ts";
import { readServeSettings } from "../../../src/cli/settings/read-serve-settings.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const sourcesOf = async (...argv: readonly string[]) => toModelSources(await readServeSettings(argv, {}));

/** A configuration file with this text. */
const file = (text: string) => join(tempFolder({ "serving.yaml": text }), "serving.yaml");

const MODELS = "models: [{ name: m, driver: 'null' }]";

describe("named models", () => {
  test("come from flags, folders and files, with options for all of them", async () => {
    const config = file(MODELS);
    const sources = await sourcesOf(
      ...[
        "--model",
        "emotion=models/e",
        "--model",
        "naïve 50%/x=/a=b",
        "--model-repository",
        "repo",
        "--config",
        config,
      ],
      ...["-o", "max_batch_size=8"],
    );
    expect(sources).toMatchObject({
      named: [
        { name: "emotion", path: resolve("models/e") },
        { name: "naïve 50%/x", path: "/a=b" },
      ],
      folders: ["repo"],
      files: [config],
      options: { max_batch_size: "8" },
    });
  });

  test("are none where there is one pipeline, whose settings may be in a file", async () => {
    expect(await sourcesOf("--model-path", "m.onnx")).toBeUndefined();
    expect(await sourcesOf("--model-path", "m.onnx", "--config", file("log-level: debug"))).toBeUndefined();
  });

  test.each([
    [["--model", "m.onnx"], '--model is "m.onnx"; expected NAME=PATH, for example emotion=models/emotion.'],
    [["--model", "=x"], '--model is "=x"; expected NAME=PATH'],
    [["--model", "a=x", "--model-path", "y"], "--model-path describes one pipeline, and --model names models"],
    [["--model-repository", "x", "--driver", "onnx"], "--driver describes one pipeline, and --model-repository names"],
    [["--model", "a=x", "--hooks", "h.ts"], "--model-path a.onnx --model-path b.onnx --hooks hooks.ts"],
    [["--model", "a=x", "--name", "b"], "--name describes one pipeline"],
    [["--model", "a=x", "--warmup", "random"], "--warmup describes one pipeline"],
    [["--model", "a=x", "-o", "2:k=v"], '-o is "2:k=v", but there are several models; expected KEY=VALUE for all'],
    [["--model", "a=x", "--load-model", "a"], "--load-model names what is loaded with --model-control explicit"],
    [["--model-path", "x", "--load-model", "a"], "--load-model is for named models"],
    [["--model-path", "x", "--model-control", "explicit"], "--model-control is for named models"],
  ])("%j is refused", async (argv, message) => {
    await expect(sourcesOf(...argv)).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining(message),
    });
  });

  test("of a file cannot be combined with a pipeline", async () => {
    const config = file(MODELS);
    await expect(sourcesOf("--model-path", "x", "--config", config)).rejects.toThrow(
      `--model-path describes one pipeline, and ${config} names models`,
    );
  });
});

describe("settings of a configuration file", () => {
  test("count after flags and variables, and their paths go out from the file", async () => {
    const config = file("http-port: 8080\nport: 1\nlog-level: debug\nlog-path: log/x\nmodel-repository: [a, /b]");
    const env = { KSERVING_PORT: "2", KSERVING_LOG_LEVEL: "warn" };
    const { settings, origins } = await readServeSettings(["--config", config, "--log-level", "error"], env);
    const folder = join(config, "..");
    expect(settings).toMatchObject({
      ...{ httpPort: 8080, httpEnable: true, port: 2, logLevel: "error", logPath: join(folder, "log/x") },
      modelRepository: [join(folder, "a"), "/b"],
    });
    expect(Object.fromEntries(origins)).toEqual({
      ...{ httpPort: `${config}:1:1`, port: "KSERVING_PORT", logLevel: "--log-level", logPath: `${config}:4:1` },
      ...{ modelRepository: `${config}:5:1`, config: "--config" },
    });
  });

  test("name the place of a value that is none", async () => {
    const config = file("\nhttp-port: high");
    await expect(readServeSettings(["--config", config], {})).rejects.toThrow(
      `${config}:2:1: http-port is "high"; expected an integer from 0 to 65535`,
    );
  });
});
