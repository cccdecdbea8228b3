import { expect, it } from "vitest";
import { usesFiles } from "../../../../src/drivers/tensorflow/native/graph-files.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";
import { tensorflowModel } from "../tensorflow-cases.ts";

it("knows a graph that reads or writes files of names that are tensors", () => {
  // NodeDef: a name, then the operation.
  const path = (operation: string) =>
    tempFolder({ "saved_model.pb": `\x0a\x01x\x12${String.fromCharCode(operation.length)}${operation}` });
  const uses = (folder: string) => usesFiles({ format: "saved-model", path: folder });
  expect(uses(path("ReadFile"))).toBe(true);
  expect(uses(path("WriteFile"))).toBe(true);
  expect(uses(path("ReadVariableOp"))).toBe(false);
  expect(uses(tensorflowModel("table_of_asset"))).toBe(false);
});
