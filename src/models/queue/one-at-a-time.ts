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
    run: ([run], onRan) => {
      const { inputs, call } = run!;
      const started = performance.now();
      const ran = () => onRan({ requests: 1, rows: 1, ms: performance.now() - started });
      return predict(inputs, call).then(
        (outputs) => {
          ran();
          run!.resolve(outputs);
        },
        (reason) => {
          ran();
          run!.reject(reason);
        },
      );
    },
  };
}
