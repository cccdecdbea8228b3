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
const isAbsolute = (form: string) => !form.startsWith("relative");
/** Forms that make sense for TensorFlow Serving, which refuses relative ones. */
const ABSOLUTE = Object.keys(FORMS).filter(isAbsolute);

/** A link's path with a step up, doubled slashes and a slash at its end. */
function crooked(path: string, shown = (link: string) => link): string {
  const link = FORMS["a link"]?.(path) as string;
  return `${shown(link)}/../${basename(link)}/`.replaceAll("/", "//");
}

/** All forms in two paths, for settings that take one path for each start of the program. */
const DENSE: typeof FORMS = {
  "relative, and crooked": (path) => crooked(path, (link) => `./${relative(".", link)}`),
  "a file URL": FORMS["a file URL"] as (path: string) => string,
};
/** The same for TensorFlow Serving. */
const DENSE_ABSOLUTE: typeof FORMS = { ...DENSE, "relative, and crooked": crooked };

/** `models/half/1/model.onnx`, hooks, and folders for what the server writes. */
function place(model = "half"): string {
  const root = tempFolder({ "hooks/hooks.ts": "export const postprocess = (outputs) => outputs;" });
  for (const folder of [`models/${model}/1`, "logs", "cache"]) mkdirSync(join(root, folder), { recursive: true });
  cpSync(HALF, join(root, `models/${model}/1/model.onnx`));
  return root;
}

const FREE = ["--port", "0", "--http-port", "0", "--no-supervisor"];
/** Without a supervisor, which knows no paths. */
const ALONE = { KSERVING_SUPERVISOR: "false" };

/** The path of a folder of the place in one form. */
type At = (folder: string) => string;

/** A path in each of the forms, of a folder of its own. */
function inForms(forms: readonly string[], folder: string, place: (index: number) => string): readonly string[] {
  return forms.map((form, index) => FORMS[form]?.(join(place(index), folder)) as string);
}

test("--model and --model-repository take paths in every form", async () => {
  const single = inForms(Object.keys(FORMS), "models/half", () => place());
  const folders = inForms(Object.keys(FORMS), "models", (index) => place(`listed${index}`));
  const models = single.flatMap((path, index) => ["--model", `named${index}=${path}`]);
  const repositories = folders.flatMap((path) => ["--model-repository", path]);
  const { http } = await startKserving([...models, ...repositories, ...FREE, "--fail-fast"]).event("ready");
  for (const index of Object.keys(FORMS).keys()) {
    for (const name of [`named${index}`, `listed${index}`])
      expect((await fetch(`${http}/v2/models/${name}/ready`)).status).toBe(200);
  }
});

/** Settings that one server is given together. */
const SETTINGS: readonly (readonly [name: string, args: (at: At) => readonly string[]])[] = [
  ["a word", (at) => [at("models/half")]],
  [
    "--model-path, --hooks, --request-log and --model-cache",
    (at) => [
      ...["--model-path", at("models/half/1"), "--hooks", fileIn(at("hooks"), "hooks.ts")],
      ...["--request-log", fileIn(at("logs"), "log"), "--model-cache", at("cache")],
    ],
  ],
];

/** A file in a folder, whose path may have a slash at its end. */
function fileIn(folder: string, name: string): string {
  return `${folder.replace(/\/$/, "")}/${name}`;
}

const TABLE = SETTINGS.flatMap(([name, args]) => Object.keys(DENSE).map((form) => [name, form, args] as const));

test.each(TABLE)("%s takes a path that is %s", async (_name, form, args) => {
  const root = place();
  const given = args((folder) => DENSE[form]?.(join(root, folder)) as string);
  const program = startKserving([...given, ...FREE, "--fail-fast"]);
  await program.event("ready");
});

test.each(Object.keys(DENSE))("SM_MODEL_DIR takes a path that is %s", async (form) => {
  const path = DENSE[form]?.(join(place(), "models")) as string;
  const env = { SM_MODEL_DIR: path, SAGEMAKER_BIND_TO_PORT: "0", KSERVING_PORT: "0", ...ALONE };
  const { http } = await startKserving(["serve"], env).event("ready");
  expect((await fetch(`${http}/ping`)).status).toBe(200);
});

/** Expects the models of a configuration to be served, which are called `half0`, `half1` and so on. */
async function expectReady(config: string, count: number): Promise<void> {
  const { http } = await startKserving(["--config", config, ...FREE, "--fail-fast"]).event("ready");
  for (let index = 0; index < count; index++)
    expect((await fetch(`${http}/v2/models/half${index}/ready`)).status).toBe(200);
}

describe("in a configuration", () => {
  test("base_path takes paths in every form but relative ones", async () => {
    const paths = inForms(ABSOLUTE, "models/half", () => place());
    const file = join(tempFolder(), "models.config");
    const configs = paths.map(
      (path, index) => `config: { name: "half${index}" base_path: "${path}" model_platform: "onnx" }`,
    );
    writeFileSync(file, `model_config_list { ${configs.join("\n")} }`);
    await expectReady(file, configs.length);
  });

  test("paths in every form go out from the file's folder", async () => {
    const root = place();
    const given = inForms(ABSOLUTE, "models/half", () => root);
    const entries = ["./models/half/", "models/half", ...given].map(
      (path, index) => `  - name: half${index}\n    path: ${path}\n`,
    );
    const file = join(root, "models.yaml");
    writeFileSync(file, `models:\n${entries.join("")}`);
    await expectReady(file, entries.length);
  });

  test.each(Object.keys(DENSE))("the file's own folder may be %s", async (form) => {
    const root = place();
    writeFileSync(join(root, "models/models.yaml"), "models:\n  - name: half\n    path: half\n");
    const file = fileIn(DENSE[form]?.(join(root, "models")) as string, "models.yaml");
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
    Object.entries(command.startsWith("tensorflow") ? DENSE_ABSOLUTE : DENSE).map(
      ([form, write]) => [command, form.replace(/^relative, and /, ""), said, args, write] as const,
    ),
  ),
)("%s takes a path that is %s", async (command, _form, said, args, write) => {
  const path = write(join(place(), "models/half"));
  const program = startKserving([command, ...args(path, await freePort())], ALONE);
  await Promise.any([program.output(said), program.output(said, "stderr")]);
});
