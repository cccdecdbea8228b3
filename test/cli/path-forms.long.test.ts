import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { freePort } from "../helpers/free-port.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { startKserving } from "./start-kserving.ts";

const HALF = "test/fixtures/models/half-plus-two.onnx";

/** Forms in which people write the path of a folder. */
const FORMS: Readonly<Record<string, (path: string) => string>> = {
  plain: (path) => path,
  relative: (path) => relative(".", path),
  "with a slash at its end": (path) => `${path}/`,
  "relative with a slash": (path) => `./${relative(".", path)}/`,
  "with a step up": (path) => `${path}/../${basename(path)}`,
  "with doubled slashes": (path) => path.replaceAll("/", "//"),
  "a link": (path) => {
    symlinkSync(path, `${path}-link`);
    return `${path}-link`;
  },
  "a file URL": (path) => `file://${path}`,
};
/** Forms that make sense for TensorFlow Serving, which refuses relative ones. */
const ABSOLUTE = Object.keys(FORMS).filter((form) => !form.startsWith("relative"));

/** `models/half/1/model.onnx`, hooks, and configurations of several servers. */
function place(): string {
  const root = tempFolder({ "hooks/hooks.ts": "export const postprocess = (outputs) => outputs;" });
  mkdirSync(join(root, "models/half/1"), { recursive: true });
  cpSync(HALF, join(root, "models/half/1/model.onnx"));
  return root;
}

const FREE = ["--port", "0", "--http-port", "0"];

/** Settings with the folder that each takes. */
const SETTINGS: readonly (readonly [name: string, folder: string, args: (path: string) => readonly string[]])[] = [
  ["a word", "models/half", (path) => [path, ...FREE]],
  ["--model-path", "models/half/1", (path) => ["--model-path", path, ...FREE]],
  ["--model", "models/half", (path) => ["--model", `half=${path}`, ...FREE]],
  ["--model-repository", "models", (path) => ["--model-repository", path, ...FREE]],
  ["--hooks", "hooks", (path) => [HALF, "--hooks", `${path.replace(/\/$/, "")}/hooks.ts`, ...FREE]],
  ["--request-log", "models", (path) => [HALF, "--request-log", `${path.replace(/\/$/, "")}/log`, ...FREE]],
  ["--model-cache", "models", (path) => [HALF, "--model-cache", path, ...FREE]],
];

const TABLE = SETTINGS.flatMap(([name, folder, args]) =>
  Object.keys(FORMS).map((form) => [name, form, folder, args] as const),
);

test.each(TABLE)("%s takes a path that is %s", async (_name, form, folder, args) => {
  const path = FORMS[form]?.(join(place(), folder)) as string;
  const program = startKserving([...args(path), "--fail-fast"]);
  await program.event("ready");
});

test.each(Object.keys(FORMS))("SM_MODEL_DIR takes a path that is %s", async (form) => {
  const path = FORMS[form]?.(join(place(), "models")) as string;
  const env = { SM_MODEL_DIR: path, SAGEMAKER_BIND_TO_PORT: "0", KSERVING_PORT: "0" };
  const { http } = await startKserving(["serve"], env).event("ready");
  expect((await fetch(`${http}/ping`)).status).toBe(200);
});

describe("in a configuration", () => {
  test.each(ABSOLUTE)("base_path takes a path that is %s", async (form) => {
    const path = FORMS[form]?.(join(place(), "models/half")) as string;
    const file = join(tempFolder(), "models.config");
    const model = `{ name: "half" base_path: "${path}" model_platform: "onnx" }`;
    writeFileSync(file, `model_config_list { config: ${model} }`);
    await startKserving(["--config", file, ...FREE, "--fail-fast"]).event("ready");
  });

  test.each(Object.keys(FORMS))("a path that is %s goes out from the file's folder", async (form) => {
    const root = place();
    const given = FORMS[form]?.(join(root, "models/half")) as string;
    const path = form.startsWith("relative") ? "./models/half/" : given;
    const file = join(root, "models.yaml");
    writeFileSync(file, `models:\n  - name: half\n    path: ${path}\n`);
    await startKserving(["--config", file, ...FREE, "--fail-fast"]).event("ready");
  });

  test.each(Object.keys(FORMS))("the file's own folder may be %s", async (form) => {
    const root = place();
    writeFileSync(join(root, "models/models.yaml"), "models:\n  - name: half\n    path: half\n");
    const file = `${FORMS[form]?.(join(root, "models")).replace(/\/$/, "")}/models.yaml`;
    await startKserving(["--config", file, ...FREE, "--fail-fast"]).event("ready");
  });
});

const PROGRAMS: readonly (readonly [command: string, said: RegExp, args: (path: string, port: number) => string[]])[] =
  [
    [
      "tensorflow_model_server",
      /Successfully loaded servable version \{name: half version: 1\}/,
      (path, port) => [`--model_base_path=${path}`, "--model_name=half", `--port=${port}`],
    ],
    ["ovms", /started/, (path, port) => ["--model_path", path, "--model_name", "half", "--port", `${port}`]],
    [
      "ie_serving",
      /serving models: \['half'\]/,
      (path, port) => ["model", "--model_path", path, "--model_name", "half", "--port", `${port}`],
    ],
    [
      "simple_tensorflow_serving",
      /Successfully|Running|http/,
      (path, port) => [`--model_base_path=${path}`, "--model_platform=onnx", `--port=${port}`],
    ],
  ];

test.each(
  PROGRAMS.flatMap(([command, said, args]) =>
    (command.startsWith("tensorflow") ? ABSOLUTE : Object.keys(FORMS)).map(
      (form) => [command, form, said, args] as const,
    ),
  ),
)("%s takes a path that is %s", async (command, form, said, args) => {
  const path = FORMS[form]?.(join(place(), "models/half")) as string;
  const program = startKserving([command, ...args(path, await freePort())]);
  await Promise.any([program.output(said), program.output(said, "stderr")]);
});
