import { invalidArgument } from "../errors.ts";
import { askOpenvino } from "./ask-openvino.ts";
import { askTensorflow } from "./ask-tensorflow.ts";
import type { RuntimeFacts } from "./probe.ts";

const ASKERS: Readonly<Record<string, (library: string) => RuntimeFacts>> = {
  tensorflow: askTensorflow,
  openvino: askOpenvino,
};

/**
 * Loads a runtime's library into this process, for good, and asks it for version and
 * devices. Rejects with what loading it throws.
 */
export async function askRuntime(name: string, library: string): Promise<RuntimeFacts> {
  const ask = ASKERS[name];
  if (ask === undefined) throw invalidArgument(`There is no runtime "${name}" to ask.`);
  return ask(library);
}
