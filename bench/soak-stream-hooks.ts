/**
 * Hooks of the soak test that answer in parts: the answer of the model, as often as the request's number says. Each
 * thread writes the numbers that it starts into a file of its own, as soak-hooks.ts, and with a minus those whose
 * generator has ended.
 */
import { openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { threadId } from "node:worker_threads";
import { createTensor, defineHooks, type HookContext, type Tensor } from "kserving";
import { firstOf, obey, pause, toFloats, type Values } from "./soak/hook-values.ts";
import { partsOf } from "./soak/numbered-request.ts";

export default defineHooks<object, Values>({
  options: { soak_folder: { type: "string", help: "Where each thread writes the numbers that it starts and ends." } },
  init_hook: ({ soak_folder: folder }) => openSync(join(folder as string, `streams-${threadId}`), "a"),
  process: answer,
});

async function* answer({ x, command }: Values, { global_ctx: file, drivers }: HookContext) {
  const number = firstOf(x);
  writeSync(file, Int32Array.of(number));
  try {
    if (command !== undefined) obey(firstOf(command));
    const { y } = await drivers[0]!.predict({ x: toFloats(x) });
    const came = 2 * (firstOf(y) - 2);
    if (came !== number) throw new Error(`cross-talk: request ${number} got the values of ${came} from the model`);
    for (let part = 0; part < partsOf(number); part++) {
      await pause(number + part);
      yield { y: y as Tensor, number: createTensor("float32", [1], Float32Array.of(number)), part };
    }
  } finally {
    writeSync(file, Int32Array.of(-number));
  }
}
