/** Hooks that end a request in each way that there is: the text of the input x says which. */
import { createTensor, decodeImage, type HookContext, type Tensors } from "kserving";

export { init_hook } from "../collecting-hooks.ts";

const ENDS: Readonly<Record<string, (context: HookContext) => unknown>> = {
  throw: () => {
    throw new Error("refused by a hook");
  },
  reject: () => Promise.reject(new TypeError("rejected by a hook")),
  nothing: () => undefined,
  wait: ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  log: ({ log }) => log.info("a line of a hook", { a: 1 }),
};

/** Does what the input asks for; what is no word is an image. */
export async function preprocess(inputs: Tensors, context: HookContext): Promise<Tensors | undefined> {
  const [bytes = Buffer.alloc(0)] = (inputs.x?.data ?? []) as readonly Uint8Array[];
  const word = Buffer.from(bytes.subarray(0, 10)).toString();
  if (word === "nothing") return undefined;
  if (Object.hasOwn(ENDS, word)) await ENDS[word]?.(context);
  else if (word !== "ok")
    return { size: createTensor("int32", [1], Int32Array.of((await decodeImage(bytes)).data.length)) };
  return inputs;
}
