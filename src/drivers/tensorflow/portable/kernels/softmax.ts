import * as tf from "@tensorflow/tfjs-core";
import { FLOATS, TYPE } from "../element-types.ts";
import type { KernelFactory, KernelTable } from "../op-node.ts";
import { asTensor } from "../values.ts";

/** Checks that neither NaN nor an infinity is among a tensor's numbers. */
export function areFinite(x: tf.Tensor): boolean {
  return tf.tidy(() => tf.sum(tf.mul(x, 0)).dataSync()[0]) === 0;
}

/** By WebAssembly for finite numbers; it loses rows with infinities, which masks of attention have. */
function alongRows(
  quick: (x: tf.Tensor) => tf.Tensor,
  exact: (row: Float32Array, type: number) => Float32Array,
): KernelFactory {
  return (node) => {
    const type = node.typeOf("T", FLOATS);
    return (x) => {
      const logits = asTensor(x);
      if (logits.size === 0) return logits.clone();
      if (areFinite(logits)) return quick(logits);
      const width = logits.shape.at(-1)!;
      const values = logits.dataSync() as Float32Array;
      const results = new Float32Array(values.length);
      for (let start = 0; start < values.length; start += width)
        results.set(exact(values.subarray(start, start + width), type), start);
      return tf.tensor(results, logits.shape);
    };
  };
}

function softmax(row: Float32Array, type: number): Float32Array {
  // What TensorFlow computes of float32 with oneDNN keeps such numbers to themselves.
  if (type === TYPE.float && row.some(isBeyond)) return row.map((value) => (isBeyond(value) ? Number.NaN : 0));
  const powers = shifted(row).map(Math.exp);
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}

function isBeyond(value: number): boolean {
  return Number.isNaN(value) || value === Number.POSITIVE_INFINITY;
}

function logSoftmax(row: Float32Array): Float32Array {
  const differences = shifted(row);
  const logarithm = Math.log(differences.reduce((total, difference) => total + Math.exp(difference), 0));
  return differences.map((difference) => difference - logarithm);
}

function shifted(row: Float32Array): Float32Array {
  const largest = row.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);
  return row.map((value) => value - largest);
}

/** Probabilities along the last axis. */
export const SOFTMAX_KERNELS: KernelTable = {
  Softmax: alongRows((x) => tf.softmax(x), softmax),
  LogSoftmax: alongRows((x) => tf.logSoftmax(x), logSoftmax),
};
