import { parseOptions } from "../../../src/drivers/option-table.ts";
import driver from "../../../src/drivers/python.ts";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { DEFAULT_SIGNATURE } from "../../../src/tensor/signature/signature.ts";
import { createTensor, createTensors, type Tensor } from "../../../src/tensor/tensor.ts";

// A program: loads a model that then hangs, prints its process's id and waits to be killed.
const [python = "python3"] = process.argv.slice(2);
const raw = { python, model_class: "toy.models:Faulty", import_path: "test/fixtures/python" };
const model = await driver.load("", parseOptions(driver.options, raw), { log: createSilentLogger(), threads: 1 });
const call = { signature: DEFAULT_SIGNATURE, signal: new AbortController().signal };
const ask = (fault: string) =>
  model.predict?.(createTensors([["fault", createTensor("bytes", [], [Buffer.from(fault)])]]), call);
const { pid } = (await ask("fine")) ?? {};
void ask("hangs");
process.stdout.write(`${(pid as Tensor<"int32">).data[0]}\n`);
