import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { configSchema } from "../../../src/cli/settings/config-schema.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { runCommand } from "./run-command.ts";

test("config show has every setting with its origin, and the named models", async () => {
  const folder = tempFolder({
    "serving.yaml": "http-port: 8080\nlog-level: debug\nmodels: [{ name: m, path: m }]",
    "m/3/model.onnx": "",
  });
  const file = join(folder, "serving.yaml");
  const env = { KSERVING_LOG_LEVEL: "warn" };
  const { code, stdout, stderr } = await runCommand(["config", "show", "--config", file, "--port", "7"], env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const lines = stdout.replaceAll(folder, "").split("\n");
  const rows = lines.map((line) => line.replace(/ {2,}/g, " | "));
  expect(rows).toEqual(
    expect.arrayContaining([
      "Setting | Value | Origin",
      "port | 7 | --port",
      "http-port | 8080 | /serving.yaml:1:1",
      "log-level | warn | KSERVING_LOG_LEVEL",
      "workers | 1 | default",
      "Model | Driver | Path | Versions | Options",
      "m | onnx | /m | 3 | -",
    ]),
  );
});

test("config show has the same in JSON", async () => {
  const folder = tempFolder({
    "serving.yaml": "shutdown-delay: 2\nmodels: [{ name: m, path: m, options: { api_token: CANARY, device: CPU } }]",
    "m/3/model.onnx": "",
  });
  const file = join(folder, "serving.yaml");
  const flags = ["--config", file, "--json", "--port", "7", "-o", "hf_token=CANARY"];
  const { code, stdout, stderr } = await runCommand(["config", "show", ...flags]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).not.toContain("CANARY");
  const { settings, models } = JSON.parse(stdout);
  expect(settings).toEqual(
    expect.arrayContaining([
      { setting: "port", value: 7, origin: "--port" },
      { setting: "shutdown-delay", value: 2, origin: `${file}:1:1` },
      { setting: "option", value: ["hf_token=***"], origin: "--option" },
      { setting: "hooks", value: null, origin: "default" },
    ]),
  );
  const options = { hf_token: "***", api_token: "***", device: "CPU" };
  const m = {
    name: "m",
    driver: "onnx",
    path: join(folder, "m"),
    versions: ["3"],
    available: ["3"],
    labels: {},
    options,
  };
  expect(models).toEqual([m]);
});

test("config show has no secrets, neither of flags nor of files", async () => {
  const folder = tempFolder({
    "serving.yaml": "models: [{ name: m, path: m, driver: 'null', options: { api_token: CANARY, device: CPU } }]",
    "m/1/x": "",
  });
  const file = join(folder, "serving.yaml");
  const flags = ["--option", "hf_token=CANARY", "-o", "url=https://u:CANARY@h/?X-Amz-Signature=CANARY"];
  const { code, stdout, stderr } = await runCommand(["config", "show", "--config", file, ...flags]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("hf_token=***, url=https://***@h/?X-Amz-Signature=***");
  expect(stdout).toContain("api_token=*** device=CPU");
  expect(stdout).not.toContain("CANARY");
});

test("config show refuses what a server would refuse", async () => {
  const { code, stderr } = await runCommand(["config", "show", "--port", "x"]);
  expect(code).toBe(2);
  expect(stderr).toContain('--port is "x"');
});

test("config schema prints the schema that the package has, with every key and every setting of a file", async () => {
  const { code, stdout } = await runCommand(["config", "schema"]);
  expect(code).toBe(0);
  const shipped = await readFile(new URL("../../../schema/kserving.schema.json", import.meta.url), "utf8");
  expect(stdout).toBe(shipped);
  expect(JSON.parse(shipped)).toEqual(configSchema());
  expect(configSchema()).toMatchObject({
    properties: {
      "http-port": { type: "integer", maximum: 65535 },
      "poll-interval": { type: "number", default: 1 },
      models: {
        items: {
          required: ["name"],
          properties: {
            versions: { anyOf: [{ enum: ["all", "latest"] }, {}, {}] },
            stages: { type: "array", items: { properties: { path: { type: "string" } } } },
            batching: { properties: { max_batch_size: {} }, additionalProperties: false },
          },
        },
      },
    },
  });
});
