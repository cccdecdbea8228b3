/** Hooks that send requests with an input `second` to the second model, and all others to the first. */
import { defineHooks, type Tensor } from "kserving";

export default defineHooks({
  process: ({ x, second }, { drivers: [one, two] }) => {
    const model = second === undefined ? one : two;
    return (model as NonNullable<typeof model>).predict({ x: x as Tensor });
  },
});
