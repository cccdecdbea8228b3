import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { applyWords } from "../../../src/cli/settings/apply-words.ts";
import { parseSettings } from "../../../src/cli/settings/parse-settings.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "kserving-words-"));
  await mkdir(join(folder, "models/emotion/3"), { recursive: true });
  await mkdir(join(folder, "one"));
  await mkdir(join(folder, "triton"));
  for (const path of [
    "a.onnx",
    "b.xml",
    "models/emotion/3/model.onnx",
    "one/iris.joblib",
    "triton/model.onnx",
    "triton/config.pbtxt",
  ])
    await writeFile(join(folder, path), "");
});
afterAll(() => rm(folder, { recursive: true }));

const at = (path: string) => join(folder, path);

async function read(...argv: string[]) {
  return applyWords(parseSettings("serve", argv, { env: {} }));
}

describe("a path without a flag means", () => {
  test("the only model, under its file's name, over gRPC and HTTP", async () => {
    const { settings, listed } = await read(at("a.onnx"));
    expect(settings).toMatchObject({ modelPath: [at("a.onnx")], name: "a", httpEnable: true });
    expect(listed).toEqual([{ flag: "model-path", value: at("a.onnx") }]);
  });

  test("the only model of a folder, and of a version's folder under its model's name", async () => {
    expect((await read(at("one"))).settings).toMatchObject({ modelPath: [at("one")], name: "one" });
    const version = at("models/emotion/3");
    expect((await read(version)).settings).toMatchObject({ modelPath: [version], name: "emotion" });
  });

  test("the model at an address, whose query, tag and secrets are not in its name", async () => {
    const address = "https://host/emotion.onnx?sig=a/s3cret.b";
    expect((await read(address)).settings).toMatchObject({ modelPath: [address], name: "emotion" });
    expect((await read("oci://host/emotion:v1")).settings).toMatchObject({ name: "emotion" });
  });

  test("the versions, if there are any, of a folder in a bucket", async () => {
    const address = "s3://models/emotion";
    expect((await read(address)).settings).toMatchObject({
      model: [`emotion=${address}`],
      modelPath: [],
      failFast: true,
    });
    for (const more of [["hooks.ts"], ["--driver", "onnx"], ["--name", "face"]])
      expect((await read(address, ...more)).settings).toMatchObject({ modelPath: [address], model: [] });
  });

  test.each(["models", "models/emotion"])("the models or versions of the folder %s", async (path) => {
    const { settings } = await read(at(path));
    expect(settings).toMatchObject({ modelRepository: [at(path)], modelPath: [], httpEnable: true, failFast: false });
  });

  test("the model of a folder with a config.pbtxt, as that describes it", async () => {
    expect((await read(at("triton"))).settings).toMatchObject({ modelRepository: [at("triton")], modelPath: [] });
  });

  test.each([
    ["a version of another", ["face.onnx", "emotion/1/model.onnx"]],
    ["another", ["face.onnx", "emotion/emotion.xml"]],
    ["another with its description", ["face.onnx", "emotion/config.pbtxt"]],
    ["a version of its own", ["emotion.onnx", "1/model.onnx"]],
  ])("the models of a folder where one lies next to %s", async (_, files) => {
    const path = tempFolder(Object.fromEntries(files.map((file) => [file, ""])));
    const { settings, warnings } = await read(path);
    expect(settings).toMatchObject({ modelRepository: [path], modelPath: [] });
    expect(warnings).toBeUndefined();
  });

  test("the only model next to folders without any", async () => {
    const path = tempFolder({
      "face.onnx": "",
      "assets/words.txt": "",
      "2024/photo.jpg": "",
      "empty/notes/1/a.txt": "",
    });
    expect(await read(path)).toMatchObject({ settings: { modelPath: [path], modelRepository: [] } });
  });

  test("the model in a folder of it that MLflow's description means, without a warning", async () => {
    const MLmodel = "flavors:\n  keras:\n    data: data\n  python_function:\n    data: data\n";
    const path = tempFolder({ MLmodel, "data/model.keras": "", "data/keras_module.txt": "" });
    const { settings, warnings = [] } = await read(path);
    expect(settings).toMatchObject({ modelPath: [path], modelRepository: [] });
    expect(warnings).toEqual([]);
  });

  test("the graph of a folder of sentence-transformers, and the folder itself if it has weights alone", async () => {
    const files = {
      "tokenizer.json": "{}",
      "config.json": "{}",
      "1_Pooling/config.json": "{}",
      "model.safetensors": "",
    };
    const weights = tempFolder(files);
    expect((await read(weights)).settings).toMatchObject({ modelPath: [weights], model: [] });
    const graphs = tempFolder({ ...files, "onnx/model.onnx": "", "onnx/model_O4.onnx": "" });
    expect((await read(graphs)).settings).toMatchObject({ modelPath: [graphs], model: [] });
    const names = ["openvino_model.xml", "openvino_tokenizer.xml", "openvino_detokenizer.xml"];
    const openvino = tempFolder({ ...files, ...Object.fromEntries(names.map((name) => [name, ""])) });
    const { settings, warnings } = await read(openvino);
    expect(settings).toMatchObject({ modelPath: [openvino], model: [] });
    expect(warnings).toHaveLength(1);
  });

  test("the model called model, with a warning that names the others", async () => {
    const path = tempFolder({ "model.onnx": "", "fp16/model.onnx": "", "old.pkl": "", "assets/words.txt": "" });
    const { settings, warnings } = await read(path);
    expect(settings).toMatchObject({ modelPath: [path], modelRepository: [] });
    expect(warnings).toEqual([
      `model.onnx is served as the model of the folder "${path}", and other models in it are left out (old.pkl, fp16); --model-repository ${path} serves each.`,
    ]);
  });

  test("several models where there are several, each of which has to load", async () => {
    const { settings } = await read(at("a.onnx"), at("b.xml"));
    expect(settings).toMatchObject({ model: [`a=${at("a.onnx")}`, `b=${at("b.xml")}`], failFast: true });
  });

  test("hooks, alone or of the only model", async () => {
    const alone = await read("hooks.ts");
    expect(alone.settings).toMatchObject({ hooks: "hooks.ts", name: "hooks" });
    expect((await read("hooks.ts", "--name", "faces")).settings.name).toBe("faces");
    expect(alone.listed).toEqual([{ flag: "driver", value: "null" }]);
    const { settings, listed } = await read(at("a.onnx"), "hooks.mjs");
    expect(settings).toMatchObject({ hooks: "hooks.mjs", name: "a" });
    expect(listed).toEqual([{ flag: "model-path", value: at("a.onnx") }]);
  });

  test("an address, which names the model by its last part", async () => {
    const address = "https://models.example/emotion.onnx";
    expect((await read(address)).settings).toMatchObject({ modelPath: [address], name: "emotion" });
  });
});

describe("flags go before what a path implies", () => {
  test("the model behind a flag that may stand alone", async () => {
    const { settings } = await read("--http-enable", at("a.onnx"));
    expect(settings).toMatchObject({ httpEnable: true, modelPath: [at("a.onnx")] });
    const controlled = await read("--allow-control", at("models"));
    expect(controlled.settings).toMatchObject({ modelRepository: [at("models")] });
    expect((await read("--http-enable", "false", at("a.onnx"))).settings.httpEnable).toBe(false);
  });

  test("the name, and HTTP that is switched off", async () => {
    const { settings } = await read(at("a.onnx"), "--name", "face", "--http-enable=false");
    expect(settings).toMatchObject({ name: "face", httpEnable: false });
  });

  test("failures of several models that may be left alone", async () => {
    expect((await read(at("a.onnx"), at("b.xml"), "--fail-fast=false")).settings.failFast).toBe(false);
  });
});

describe("what does not go together is refused", () => {
  test.each([
    [["a.onnx", "--model-path", "b.onnx"], '"a.onnx" and --model-path say the same; expected one.'],
    [["a.ts", "--hooks", "b.ts"], '"a.ts" and --hooks say the same; expected one.'],
    [["a.ts", "b.ts"], '"a.ts" and "b.ts" are hook files; expected one.'],
  ])("%j", async (argv, message) => {
    await expect(read(...argv)).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining(message),
    });
  });
});
