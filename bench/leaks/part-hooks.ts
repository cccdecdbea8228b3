/** Answers in as many parts as the input x says. */
import { createTensor, type Tensors } from "kserving";

export { init_hook } from "../collecting-hooks.ts";

/** Numbers, one after the other. */
export async function* process({ x }: Tensors): AsyncGenerator<Tensors> {
  for (let part = 0; part < Number(x?.data[0] ?? 0); part++)
    yield { y: createTensor("int32", [1], Int32Array.of(part)) };
}
