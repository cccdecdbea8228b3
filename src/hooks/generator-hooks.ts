import type { Hook, PartsHook } from "./hooks.ts";

const { toString: kindText } = Object.prototype;
const GENERATORS = ["[object AsyncGeneratorFunction]", "[object GeneratorFunction]"];

/** Checks for a generator function, async or not: it is known before it is called that it answers in parts. */
export function isGenerator(hook: unknown): hook is PartsHook {
  return typeof hook === "function" && GENERATORS.includes(kindText.call(hook));
}

/** Checks if requests through these hooks are answered in parts. */
export function answersInParts({ process, postprocess }: AnsweringHooks): boolean {
  return process === undefined ? postprocess.some(isGenerator) : isGenerator(process);
}

/** The hooks that make answers. */
interface AnsweringHooks {
  readonly process?: AnyHook;
  readonly postprocess: readonly (AnyHook | null)[];
}

/** A hook of either kind. */
export type AnyHook = Hook | PartsHook;
