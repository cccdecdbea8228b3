import { expect, test } from "vitest";
import { createFlagParser } from "../../../src/cli/settings/flag-parser.ts";
import { parseSettings } from "../../../src/cli/settings/parse-settings.ts";
import { foreignFlagHint } from "../../../src/cli/settings/unknown-words.ts";

const messageOf = (argv: readonly string[]): string => {
  try {
    parseSettings("serve", argv, { env: {} });
    return "taken";
  } catch (reason) {
    return (reason as Error).message;
  }
};

// The first words of start commands in the documents of TensorFlow Serving, OpenVINO Model Server, Triton and KServe.
test.each([
  ["--model_name=resnet", "--name NAME"],
  ["--rest_api_port=8501", "--http-port PORT"],
  ["--rest_port", "--http-port PORT"],
  ["--model_base_path=/models/m", "--model NAME=PATH with its name"],
  ["--model_config_file=models.config", "--config FILE; the file is read as it is"],
  ["--config_path", "--config FILE"],
  ["--platform_config_file", "-o session_config=TEXT"],
  ["--target_device", "-o device=CPU"],
  ["--plugin_config", "-o plugin_config=JSON"],
  ["--model_path", "write --model-path."],
  ["--http_port", "write --http-port."],
  ["--model_repository=/models", "write --model-repository."],
  ["--model-store", "--model-repository DIR"],
  ["--grpc-port", "--port PORT"],
  ["--grpc_port", "--port PORT"],
  ["--http", "--http-enable, or --http-port PORT"],
  ["--models", "--model NAME=PATH for each"],
  ["--allow-metrics", "GET /metrics at the HTTP port"],
  ["--model_dir", "--model-path PATH"],
])("%s says what to write here", (flag, hint) => {
  const message = messageOf([flag, "x"]);
  expect(message).toMatch(/^There is no flag --[^=\s]+ here: .*\. kserving --help lists the flags\.$/);
  expect(message).toContain(hint);
});

test("a flag of a server whose command line one of our commands takes names that command", () => {
  expect(messageOf(["--rest_api_port=1"])).toContain(". It is a flag of kserving tensorflow-model-server. ");
  expect(messageOf(["--model_name", "m"])).toContain(
    "and kserving ovms and kserving simple-tensorflow-serving and kserving kserve. ",
  );
  expect(messageOf(["--grpc-port", "1"])).not.toContain("It is a flag of");
});

test("flags of other servers that are spelt as ours are taken", () => {
  expect(messageOf(["--port", "1", "--http-port", "2", "--host", "::1", "--log-level", "info"])).toBe("taken");
});

test("a misspelt flag of our own still gets the nearest one, and an unknown one none", () => {
  expect(messageOf(["--model-pth", "x"])).toContain("Did you mean --model-path?");
  expect(foreignFlagHint("--frobnicate")).toBeUndefined();
});

test("every flag that a hint says to write is one of ours", () => {
  const own = createFlagParser("serve", () => {}).options.map(({ long }) => long);
  const names = ["model-name", "rest-port", "grpc-address", "http", "ssl-config-file", "shape", "model-control-mode"];
  const hints = names.map((name) => foreignFlagHint(`--${name}`));
  const flags = hints.flatMap((hint) => hint?.replace(/kserving proxy.*/, "").match(/--[a-z][a-z-]*/g) ?? []);
  expect(flags.length).toBeGreaterThan(5);
  for (const flag of flags) expect(own).toContain(flag);
});
