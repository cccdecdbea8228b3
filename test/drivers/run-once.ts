import { readFileSync } from "node:fs";
import { deserialize } from "node:v8";
import { parseOptions } from "../../src/drivers/option-table.ts";
import { findDriver } from "../../src/drivers/registry.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { DEFAULT_SIGNATURE } from "../../src/tensor/signature/signature.ts";
import { createTensors } from "../../src/tensor/tensor.ts";

// A program: loads the model that standard input describes, predicts once, closes. It
// ends by itself if that left nothing open.
const { name, modelPath, options, inputs } = deserialize(readFileSync(0));
const { driver } = await findDriver(name);
const model = await driver.load(modelPath, parseOptions(driver.options, options), {
  log: createSilentLogger(),
  threads: 1,
});
const call = { signature: DEFAULT_SIGNATURE, signal: new AbortController().signal };
await model.predict?.(createTensors(Object.entries(inputs)), call);
await model.close();
process.stdout.write("closed");
