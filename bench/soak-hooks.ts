/**
 * Hooks of the soak test: every request carries a number, which they look for again behind each model. A request with
 * an input `command` ends its thread (`exit`) or never comes back (`spin`). Each thread writes the numbers that it
 * starts into a file of its own, so that it is known afterwards who was in a thread that died.
 */
import { openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { threadId } from "node:worker_threads";
import { createTensor, defineHooks, type Hook, type Tensor } from "kserving";
import { firstOf, obey, pause, toFloats, type Values } from "./soak/hook-values.ts";

interface State {
  number: number;
}

export default defineHooks<State, Values>({
  options: { soak_folder: { type: "string", help: "Where each thread writes the numbers that it starts." } },
  init_hook: ({ soak_folder: folder }) => openSync(join(folder as string, String(threadId)), "a"),
  preprocess: [begin, same],
  postprocess: [halfway, finish],
});

async function begin(...[{ x, command }, ctx]: Parameters<Hook<State, Values>>) {
  ctx.number = firstOf(x);
  writeSync(ctx.global_ctx, Int32Array.of(ctx.number));
  if (command !== undefined) obey(firstOf(command));
  await pause(ctx.number);
  return { x: toFloats(x) };
}

async function halfway(...[{ y }, ctx]: Parameters<Hook<State, Values>>) {
  expectNumber(ctx, 2 * (firstOf(y) - 2), "the first model");
  await pause(ctx.number);
  return { y: y as Tensor, number: createTensor("float32", [1], Float32Array.of(ctx.number ?? Number.NaN)) };
}

function finish(...[{ y, number }, ctx]: Parameters<Hook<State, Values>>) {
  expectNumber(ctx, firstOf(number), "the second model");
  return { y: y as Tensor, number: number as Tensor };
}

function same(values: Values) {
  return values as Readonly<Record<string, Tensor>>;
}

function expectNumber({ number }: Partial<State>, came: number, from: string): void {
  if (came !== number) throw new Error(`cross-talk: request ${number} got the values of ${came} from ${from}`);
}
