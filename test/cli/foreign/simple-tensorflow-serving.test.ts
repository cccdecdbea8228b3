import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { SIMPLE_TENSORFLOW_SERVING } from "../../../src/cli/foreign/simple-tensorflow-serving.ts";
import { runForeign } from "../../../src/cli/main.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { collectOutput, type Understood, understand } from "./run-in-process.ts";

const HERE = ["--model_base_path", tempPath()];

function tempPath(): string {
  return resolve("test/fixtures/models/half-plus-two.onnx");
}

async function understood(argv: readonly string[], env = {}): Promise<Understood> {
  return (await understand(SIMPLE_TENSORFLOW_SERVING, argv, env)) as Understood;
}

async function run(argv: readonly string[], env = {}) {
  const printed = collectOutput();
  const code = await runForeign("simple-tensorflow-serving", argv, env);
  return { code, ...printed };
}

describe("the flags of simple_tensorflow_serving", () => {
  it("have its defaults: port 8500 for HTTP and gRPC, every version, no look for others, pages of all origins", async () => {
    const { settings, sources, warnings } = await understood(HERE);
    expect(settings).toMatchObject({
      host: "0.0.0.0",
      port: 8500,
      httpPort: 8500,
      httpEnable: true,
      corsOrigins: ["*"],
      pollIntervalMs: 0,
      simpleTensorflowServing: true,
      failFast: true,
      logLevel: "info",
    });
    expect(sources.models).toMatchObject([
      { name: "default", path: tempPath(), driver: "tensorflow", versions: { kind: "all" }, options: {} },
    ]);
    expect([sources.keepsFiles, warnings]).toEqual([true, []]);
  });

  it("say what it says, with values behind a space or an equals sign, cut short, and booleans as words", async () => {
    const { settings, sources } = await understood([
      ...["--host=127.0.0.1", "--port", "8600", "--model_name", "m", "--model_base", tempPath()],
      ...["--model_platform=onnx", "--reload_models=True", "--log_level=warning", "--enable_cors=False"],
      ...["--custom_op_paths=/ops,/more", '--session_config={"allow_growth": true}', "--enable_ssl=false"],
      "--download_inference_images=false",
    ]);
    expect(settings).toMatchObject({
      ...{ host: "127.0.0.1", port: 8600, httpPort: 8600, corsOrigins: [], pollIntervalMs: 10_000, logLevel: "warn" },
    });
    expect(settings.tlsCert).toBeUndefined();
    expect(sources.models).toMatchObject([
      {
        name: "m",
        driver: "onnx",
        options: { custom_op_paths: "/ops,/more", session_config: '{"allow_growth":true}' },
      },
    ]);
  });

  it("are variables too, which count less", async () => {
    const variables = {
      STFS_PORT: "8601",
      STFS_MODEL_NAME: "m",
      STFS_MODEL_BASE_PATH: tempPath(),
      STFS_ENABLE_SSL: "1",
      STFS_SECRET_PEM: "/a.pem",
      STFS_DEBUG: "True",
      STFS_HOST: "",
      KSERVING_PORT: "9001",
    };
    const { settings, sources } = await understood(["--port=8602"], variables);
    expect(settings).toMatchObject({
      ...{ host: "0.0.0.0", port: 9001, httpPort: 8602, tlsCert: "/a.pem", tlsKey: "secret.key", logLevel: "debug" },
    });
    expect(sources.models).toMatchObject([{ name: "m" }]);
  });

  it("name a file of models, of which a faulty one does not end the start", async () => {
    const config = { model_config_list: [{ name: "a", base_path: "/a", platform: "spark" }] };
    const file = `${tempFolder({ "c.json": JSON.stringify(config) })}/c.json`;
    const { settings, sources } = await understood(["--model_config_file", file]);
    expect(sources).toMatchObject({ models: [], files: [file], keepsFiles: true });
    expect(settings.failFast).toBe(false);
  });

  it("let in one user, whose password has to be given", async () => {
    const flags = [...HERE, "--enable_auth=True", "--auth_username=ann"];
    const read = await SIMPLE_TENSORFLOW_SERVING.read([...flags, "--auth_password=pw"], {});
    expect(read).toMatchObject({ password: "pw", warnings: [] });
    const { settings } = await understood(flags, { STFS_AUTH_PASSWORD: "pw" });
    expect(settings).toMatchObject({ authUsername: "ann" });
    await expect(understood(flags)).rejects.toThrow("--enable_auth needs a password: the original's default one");
    const { warnings } = await understood([...HERE, "--enable_auth=1", "--auth_password=admin"]);
    expect(warnings).toEqual([expect.stringContaining("The user and the password are admin")]);
    expect(await SIMPLE_TENSORFLOW_SERVING.read([...HERE, "--enable_auth=False"], {})).not.toHaveProperty("password");
  });

  it("warn of what changes nothing", async () => {
    const { warnings } = await understood([...HERE, "--enable_b64_autoconvert=True"]);
    expect(warnings).toEqual(["--enable_b64_autoconvert changes nothing here: such objects are always decoded."]);
  });
});

describe("a command line that it does not take ends with 2", () => {
  it.each([
    [["--port"], "argument --port: expected one argument"],
    [["--port", "x"], "argument --port: invalid int value: 'x'"],
    [["--nope", "1"], "unrecognized arguments: --nope 1"],
    [["--model_base_path=./no/such"], "Local model path does not exist: ./no/such"],
    [[...HERE, "--model_platform=spark"], "of the platform spark, for which there is no driver"],
    [[...HERE, "--session_config=[1"], "--session_config is [1; expected a JSON object."],
    [[...HERE, "--download_inference_images=True"], "is not taken: files of clients are not written to disk."],
    [[...HERE, "--enable_auth=True"], "--enable_auth needs a password"],
    [[...HERE, "--port=70000"], "--port"],
  ])("%j", async (argv, message) => {
    const { code, stderr } = await run(argv);
    expect(stderr).toContain(`simple_tensorflow_serving: error: `);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });
});

it("a file that cannot be read ends with 1", async () => {
  const { code, stderr } = await run(["--model_config_file=/nowhere.json"]);
  expect([code, stderr]).toEqual([1, expect.stringContaining("/nowhere.json")]);
});

it("an option that a driver asks for is named as a variable, as there is no flag for it", () => {
  const printed = collectOutput();
  const code = SIMPLE_TENSORFLOW_SERVING.fail(new Error("It is a pickle; you may say -o allow_pickle=true."), {
    failed: [],
  });
  expect(printed.stderr).toContain("error: It is a pickle; you may say KSERVING_OPTION=allow_pickle=true.");
  expect(code).toBe(1);
});

it("help lists the flags with their defaults", async () => {
  const { code, stdout } = await run(["-h"]);
  expect(stdout).toMatch(/--port PORT .*\(default: 8500\) \[--http-port\]/);
  expect(code).toBe(0);
});
