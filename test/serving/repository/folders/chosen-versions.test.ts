import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { modelConfig } from "../../../../src/serving/repository/config/model-config.ts";
import type { VersionPolicy } from "../../../../src/serving/repository/config/versions.ts";
import { chosenVersions } from "../../../../src/serving/repository/folders/chosen-versions.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";

const HALF = "test/fixtures/models/half-plus-two.onnx";

/** A folder of versions; `model.onnx` is a model, other files have some text, a name with a slash is a folder. */
function versions(files: readonly string[]): string {
  const folder = tempFolder();
  for (const name of files) {
    mkdirSync(name.endsWith("/") ? join(folder, name) : dirname(join(folder, name)), { recursive: true });
    if (name.endsWith(".onnx")) cpSync(HALF, join(folder, name));
    else if (!name.endsWith("/")) writeFileSync(join(folder, name), "text");
  }
  return folder;
}

const LATEST: VersionPolicy = { kind: "latest", count: 1 };

async function choose(path: string, policy = LATEST, driver?: string, served: readonly bigint[] = []) {
  const config = modelConfig({ name: "m", path, versions: policy, ...(driver !== undefined && { driver }) });
  const { chosen, warnings } = await chosenVersions(config, { served });
  return { chosen: chosen.map(({ version }) => Number(version)), warnings };
}

test.each([
  ["other files", ["2/notes.txt"]],
  ["nothing", ["2/"]],
  ["hidden files alone", ["2/.DS_Store", "2/._model.onnx"]],
  ["a folder with nothing of a model", ["2/data/", "2/README.md"]],
  ["what a Mac's archives have", ["2/__MACOSX/", "3/labels.txt"]],
])("a folder of a version with %s does not hide the version below, and is named in a warning", async (_, files) => {
  const path = versions(["1/model.onnx", ...files]);
  for (const driver of [undefined, "onnx", "openvino"]) {
    const { chosen, warnings } = await choose(path, LATEST, driver);
    expect(chosen).toEqual([1]);
    expect(warnings).toContainEqual(expect.stringContaining(`${path}/2 is left out, since it has no model`));
  }
});

test("all versions, the latest two, or certain ones are counted among those with a model", async () => {
  const path = versions(["1/model.onnx", "2/a.txt", "3/model.onnx", "4/a.txt"]);
  expect((await choose(path, { kind: "all" })).chosen).toEqual([1, 3]);
  expect((await choose(path, { kind: "latest", count: 2 })).chosen).toEqual([1, 3]);
  expect((await choose(path, { kind: "specific", versions: [4n] })).chosen).toEqual([4]);
});

test("a version whose files are being replaced stays while it is served", async () => {
  const path = versions(["1/model.onnx", "2/a.txt"]);
  expect((await choose(path, LATEST, undefined, [2n])).chosen).toEqual([2]);
});

test("where no version has a model, the highest counts, whose load says why", async () => {
  expect(await choose(versions(["1/a.txt", "2/b.txt"]))).toEqual({ chosen: [2], warnings: [] });
});

test.each([
  ["sklearn", "2/classifier.bin"],
  ["pytorch", "2/weights.ckpt"],
  ["transformers", "2/model.safetensors"],
  ["python", "2/predict.txt"],
  ["null", "2/"],
])("with the driver %s, %s may be a model", async (driver, file) => {
  expect((await choose(versions(["1/model.onnx", file]), LATEST, driver)).chosen).toEqual([2]);
});
