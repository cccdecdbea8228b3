import type { Tensors } from "../../tensor/tensor.ts";
import type { ModelCall } from "../model-handle.ts";
import type { RunPolicy } from "./run-queue.ts";

/** Runs each predict alone. */
export function oneAtATime(predict: (inputs: Tensors, call: ModelCall) => Promise<Tensors>): RunPolicy {
  return {
    take: (waiting) => waiting.splice(0, 1),
    lingerMs: () => 0,
    rowsOf: () => 1,
    runAlone: predict,
    run: ([run]) => {
      const { inputs, call } = run!;
      return predict(inputs, call).then(
        (outputs) => run!.resolve(outputs),
        (reason) => run!.reject(reason),
      );
    },
  };
}
