/**
 * Answers in parts: x has the number of parts, the floats of each, and 1 if the answer then stays open until its client
 * leaves. The first float of a part is its number. With -1 parts there is one, with the number of other open answers.
 */
import { createTensor, type HookContext, type Tensors } from "kserving";

/** So that the garbage of a thread is not measured. */
export { init_hook } from "./collecting-hooks.ts";

let open = 0;

/** Parts of the same buffer, which is written again for each. */
export async function* process({ x }: Tensors, { signal }: HookContext): AsyncGenerator<Tensors> {
  const [parts = 0, floats = 1, staysOpen = 0] = Array.from(x?.data as ArrayLike<number>, Number);
  if (parts === -1) {
    yield { y: createTensor("float32", [1], Float32Array.of(open)) };
    return;
  }
  const values = new Float32Array(floats);
  open++;
  try {
    for (let part = 0; part < parts; part++) {
      values[0] = part;
      yield { y: createTensor("float32", [1, floats], values) };
    }
    if (staysOpen === 1 && !signal.aborted)
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  } finally {
    open--;
  }
}
