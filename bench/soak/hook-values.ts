import type { PlainValue, Tensor } from "kserving";
import { createTensor } from "kserving";

/** Values that hooks of the soak test get: tensors, or plain lists where the request came as JSON. */
export type Values = Readonly<Record<string, Tensor | PlainValue>>;

/** REST makes whole numbers int32, since it cannot know what a hook wants. */
export function toFloats(x: Tensor | PlainValue | undefined): Tensor {
  const list = ((x as Tensor).data ?? x) as ArrayLike<number>;
  return createTensor("float32", [list.length], Float32Array.from(list));
}

/** The first element, as a number. */
export function firstOf(value: Tensor | PlainValue | undefined): number {
  const list = (value as Tensor).data ?? value;
  return Number((list as ArrayLike<unknown>)[0]);
}

/** Lets other requests come between, some more and some less. */
export async function pause(number = 0): Promise<void> {
  if (number % 8 === 0) await new Promise((resolve) => setTimeout(resolve, number % 3));
  else await new Promise((resolve) => setImmediate(resolve));
}

/** Ends the thread (1), or hangs it. */
export function obey(command: number): void {
  if (command === 1) process.exit(1);
  for (;;);
}
