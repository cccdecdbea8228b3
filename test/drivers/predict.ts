import type { Model, PredictCall } from "../../src/drivers/driver.ts";
import { DEFAULT_SIGNATURE } from "../../src/tensor/signature/signature.ts";
import { createTensors, type Tensor, type Tensors } from "../../src/tensor/tensor.ts";

/** Runs a driver's model on named tensors, for all outputs if `call` does not say which. */
export function predict(
  model: Model,
  inputs: Readonly<Record<string, Tensor>>,
  call: Partial<PredictCall> = {},
): Promise<Tensors> {
  const { signal } = new AbortController();
  return model.predict(createTensors(Object.entries(inputs)), { signature: DEFAULT_SIGNATURE, signal, ...call });
}
