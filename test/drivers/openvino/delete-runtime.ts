import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createTensors } from "../../../src/tensor/tensor.ts";
import { predict } from "../predict.ts";
import { floats, openModel } from "./open-model.ts";

// A program: runs a model on the OpenVINO of a folder, deletes most of that, tries to
// load another format, and runs the model again.
const [folder, path] = process.argv.slice(2) as [string, string];
const options = { openvino_lib: folder };
const model = await openModel(path, options);
await answer();
// What is left is what the search for a runtime looks at.
for (const name of readdirSync(folder)) if (!/^libopenvino(_c)?\.so/.test(name)) rmSync(join(folder, name));
const refused = await openModel("test/fixtures/models/matmul-dynamic-batch.onnx", { openvino_lib: folder }).catch(
  (reason) => reason.message,
);
process.stdout.write(`${refused}\n`);
await answer();
await model.close();

async function answer(): Promise<void> {
  await predict(model, createTensors([["x", floats([1, 3], 1, 2, 3)]]));
  process.stdout.write("answered\n");
}
