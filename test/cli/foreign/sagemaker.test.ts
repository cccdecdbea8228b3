import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { SAGEMAKER } from "../../../src/cli/foreign/sagemaker.ts";
import { findSagemakerModels } from "../../../src/serving/repository/formats/sagemaker.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { startKserving } from "../start-kserving.ts";

const HALF = "test/fixtures/models/half-plus-two.onnx";

/** A model folder with these versions, `NAME/VERSION`, and files beside. */
function modelFolder(versions: readonly string[], files: Readonly<Record<string, string>> = {}): string {
  const folder = tempFolder();
  for (const version of versions) {
    mkdirSync(join(folder, version), { recursive: true });
    cpSync(HALF, join(folder, version, "model.onnx"));
  }
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

test("serve alone is SageMaker's where its variables are: models, hooks, port, batches and default model", async () => {
  const folder = modelFolder(["export/Servo/1", "export/Servo/002", "a/7"], {
    "code/hooks.ts": "export const postprocess = (outputs) => outputs;",
  });
  const program = startKserving(["serve"], {
    SM_MODEL_DIR: folder,
    SAGEMAKER_BIND_TO_PORT: "0",
    KSERVING_PORT: "0",
    SAGEMAKER_TFS_DEFAULT_MODEL_NAME: "Servo",
    SAGEMAKER_TFS_ENABLE_BATCHING: "true",
    SAGEMAKER_TFS_MAX_BATCH_SIZE: "16",
  });
  const { http } = await program.event("ready");
  expect((await fetch(`${http}/ping`)).status).toBe(200);
  const answer = await fetch(`${http}/invocations`, {
    method: "POST",
    body: "1\n2",
    headers: { "content-type": "text/csv" },
  });
  expect([answer.status, answer.headers.get("x-model-name"), answer.headers.get("x-model-version")]).toEqual([
    200,
    "Servo",
    "2",
  ]);
  expect(await answer.json()).toEqual({ predictions: [2.5, 3] });
  const index = (await (await fetch(`${http}/v1/models`)).json()) as { models: readonly { model_name: string }[] };
  expect(JSON.stringify(index)).toMatch(/Servo.*a/);
  const configs = ["Servo", "a"].map(async (name) => (await fetch(`${http}/v2/models/${name}/config`)).json());
  expect(await Promise.all(configs)).toMatchObject([{ max_batch_size: 16 }, { max_batch_size: 16 }]);
});

describe("findSagemakerModels", () => {
  test("a folder without versions is the model", async () => {
    const folder = modelFolder(["."]);
    expect(await findSagemakerModels(folder, undefined)).toMatchObject([{ name: "model", path: folder }]);
  });

  test("a model's own code comes before that of all", async () => {
    const handlers = "export const handler = () => ['', 'a/b'];";
    const folder = modelFolder(["a/1", "b/1", "c/d/1", "e/1"], {
      "code/inference.ts": handlers,
      "code/inference.py": "",
      "b/code/hooks.js": "",
      "b/code/inference.py": "",
      "e/code/inference.py": "",
      "c/code/inference.mjs": handlers,
    });
    const found = await findSagemakerModels(folder, undefined);
    expect(found.map(({ name, hooks }) => [name, hooks])).toEqual([
      ["a", join(folder, "code/inference.ts")],
      ["b", join(folder, "b/code/hooks.js")],
      ["d", join(folder, "c/code/inference.mjs")],
      ["e", join(folder, "e/code/inference.py")],
    ]);
  });

  test("SAGEMAKER_PROGRAM is another name of the model's own code", async () => {
    const files = {
      "code/serve.py": "def model_fn(model_dir): ...",
      "code/inference.py": "",
      "b/code/in/serve.py": "",
    };
    const folder = modelFolder(["a/1"], files);
    expect(await findSagemakerModels(folder, undefined, "serve.py")).toMatchObject([
      { name: "a", stages: [{ driver: "null" }], hooks: join(folder, "code/serve.py") },
    ]);
    expect(await findSagemakerModels(join(folder, "b"), undefined, "in/serve.py")).toMatchObject([
      { hooks: join(folder, "b/code/in/serve.py") },
    ]);
    await expect(findSagemakerModels(modelFolder(["1"]), undefined, "serve.py")).rejects.toThrow(
      /SAGEMAKER_PROGRAM is "serve.py", but there is no such file in .*code, nor/,
    );
  });

  test.each([
    ["a default model that is not there", { "m/1/x": "" }, "no", 'SAGEMAKER_TFS_DEFAULT_MODEL_NAME is "no"; '],
  ])("refuses %s", async (_, files, first, message) => {
    await expect(findSagemakerModels(modelFolder([], files), first)).rejects.toThrow(message);
  });

  test("refuses a folder that is not there", async () => {
    await expect(findSagemakerModels("/no/such/folder", undefined)).rejects.toThrow(
      "/no/such/folder, the model folder of SageMaker, cannot be read",
    );
  });
});

test("many models in one container begin without one, from the folder of the platform", async () => {
  for (const [folder, path] of [
    [undefined, "/opt/ml/models"],
    ["/models", "/models"],
  ] as const) {
    const read = await SAGEMAKER.read([], { SAGEMAKER_MULTI_MODEL: "True", ...(folder && { SM_MODEL_DIR: folder }) });
    expect(read).toMatchObject({ models: [], platform: { named: "/opt/ml/models", path } });
  }
  await expect(SAGEMAKER.read([], { SAGEMAKER_MULTI_MODEL: "yes" })).rejects.toThrow(
    'SAGEMAKER_MULTI_MODEL is "yes"; expected true or false.',
  );
});
