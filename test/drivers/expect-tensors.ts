import { expect } from "vitest";
import { createTensor, createTensors, type Tensor, type Tensors } from "../../src/tensor/tensor.ts";

/** Tensors as tests write them down. */
export type TensorRecord = Readonly<Record<string, Tensor>>;

/** Fails unless names, dtypes, shapes and values are the expected ones; numbers may be off by the tolerance. */
export function expectTensors(actual: Tensors, expected: TensorRecord, tolerance = 0): void {
  expect(Object.keys(actual).sort()).toEqual(Object.keys(expected).sort());
  for (const [name, tensor] of Object.entries(expected)) {
    const { dtype, shape, data } = actual[name] as Tensor;
    expect({ name, dtype, shape }).toEqual({ name, dtype: tensor.dtype, shape: tensor.shape });
    expect(data).toHaveLength(tensor.data.length);
    for (const [index, value] of tensor.data.entries()) expectNear(data[index], value, tolerance);
  }
}

function expectNear(actual: unknown, expected: unknown, tolerance: number): void {
  if (typeof expected === "number" && tolerance > 0) {
    expect(Math.abs((actual as number) - expected)).toBeLessThanOrEqual(tolerance);
  } else {
    expect(toPlain(actual)).toEqual(toPlain(expected));
  }
}

/** A Buffer and a Uint8Array of the same bytes are the same element. */
function toPlain(element: unknown): unknown {
  return element instanceof Uint8Array ? [...element] : element;
}

/** The same tensors in memory of their own. */
export function copyTensors(tensors: TensorRecord): Tensors {
  return createTensors(
    Object.entries(tensors).map(([name, { dtype, shape, data }]) => {
      const copy = dtype === "bytes" ? data.map((element) => new Uint8Array(element)) : data.slice();
      return [name, createTensor(dtype, [...shape], copy as never)];
    }),
  );
}

/** Puts other values where the tensors' are. */
export function overwriteTensors(tensors: TensorRecord): void {
  for (const { dtype, data } of Object.values(tensors)) {
    const arrays = dtype === "bytes" ? data : [new Uint8Array(data.buffer, data.byteOffset, data.byteLength)];
    for (const array of arrays) array.fill(0x21);
  }
}
