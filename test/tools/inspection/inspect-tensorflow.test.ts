import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { inspectSavedModel } from "../../../src/tools/inspection/inspect-tensorflow.ts";
import { tensorflowModel } from "../../drivers/tensorflow/tensorflow-cases.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

test("a damaged index of variables is named", () => {
  const folder = tempFolder();
  cpSync(tensorflowModel("keras_dense"), folder, { recursive: true });
  expect(inspectSavedModel(folder).weights?.get("float32")).toMatchObject({ tensors: expect.any(Number) });
  const index = join(folder, "variables", "variables.index");
  writeFileSync(index, "short");
  const message = `"${index}" is not a checkpoint's index: it has 5 bytes, too few for an index.`;
  expect(() => inspectSavedModel(folder)).toThrow(expect.objectContaining({ code: "failed_precondition", message }));
});
