import * as tf from "@tensorflow/tfjs-core";
import { sizeOfNew } from "../../tfjs/kernel-checks.ts";
import { FLOATS } from "../element-types.ts";
import type { KernelFactory, KernelTable } from "../op-node.ts";
import { asTensor, requireRank } from "../values.ts";
import { broadcastShape } from "./binary.ts";

const matMul: KernelFactory = (node) => {
  node.typeOf("T", FLOATS);
  const [a, b] = [node.flag("transpose_a", false), node.flag("transpose_b", false)];
  return (left, right) => multiplyMatrices(requireRank(left, 2), requireRank(right, 2), a, b);
};

const batchMatMul: KernelFactory = (node) => {
  node.typeOf(node.op === "BatchMatMulV3" ? "Ta" : "T", FLOATS);
  const [a, b] = [node.flag("adj_x", false), node.flag("adj_y", false)];
  return (left, right) => multiplyMatrices(asTensor(left), asTensor(right), a, b);
};

/** WebAssembly reads beyond a matrix without elements. */
function multiplyMatrices(a: tf.Tensor, b: tf.Tensor, transposeA: boolean, transposeB: boolean): tf.Tensor {
  const inner = [a.shape.at(transposeA ? -2 : -1), b.shape.at(transposeB ? -1 : -2)];
  if (a.rank < 2 || b.rank < 2 || inner[0] !== inner[1])
    throw new Error(`Matrix size-incompatible: In[0]: [${a.shape}], In[1]: [${b.shape}]`);
  if (a.size > 0 && b.size > 0) return tf.matMul(...alignBatches(a, b), transposeA, transposeB);
  const [rows, columns] = [a.shape.at(transposeA ? -1 : -2), b.shape.at(transposeB ? -2 : -1)];
  const batches = broadcastShape(a.shape.slice(0, -2), b.shape.slice(0, -2));
  const shape = [...batches, rows as number, columns as number];
  sizeOfNew(shape, "The product");
  return tf.zeros(shape);
}

/** WebAssembly broadcasts only if one side has a single matrix. */
function alignBatches(a: tf.Tensor, b: tf.Tensor): [tf.Tensor, tf.Tensor] {
  const [left, right] = [a.shape.slice(0, -2), b.shape.slice(0, -2)];
  if (left.join() === right.join()) return [a, b];
  const batches = broadcastShape(left, right);
  const widen = (x: tf.Tensor) => tf.broadcastTo(x, [...batches, ...x.shape.slice(-2)]);
  return [widen(a), widen(b)];
}

/** Einstein's summation of one or two tensors, no letter twice in one, as a product of matrices. */
const einsum: KernelFactory = (node) => {
  node.typeOf("T", FLOATS);
  const equation = node.text("equation").replaceAll(" ", "");
  const [, left, right, result] = /^([a-zA-Z]*)(?:,([a-zA-Z]*))?->([a-zA-Z]*)$/.exec(equation) ?? [];
  const terms = [left, right, result].filter((term) => term !== undefined);
  const repeats = terms.some((term) => new Set(term).size !== term.length);
  if (left === undefined || result === undefined || repeats) return node.refuse(`of "${equation}"`);
  if (right === undefined) return (x) => tf.tidy(() => arrange(reduceTo(asTensor(x), left, result), result));
  return (a, b) =>
    tf.tidy(() => {
      const x = reduceTo(asTensor(a), left, right + result);
      const y = reduceTo(asTensor(b), right, left + result);
      return arrange(multiply(x, y, result), result);
    });
};

/** A tensor whose axes have letters. */
interface Lettered {
  readonly tensor: tf.Tensor;
  readonly letters: string;
}

/** Sums over the axes that nothing else names. */
function reduceTo(tensor: tf.Tensor, letters: string, wanted: string): Lettered {
  if (tensor.rank !== letters.length) throw new Error(`"${letters}" stands for a tensor of shape [${tensor.shape}]`);
  const gone = [...letters].map((letter, axis) => (wanted.includes(letter) ? -1 : axis)).filter((axis) => axis >= 0);
  const kept = [...letters].filter((letter) => wanted.includes(letter)).join("");
  return { tensor: gone.length === 0 ? tensor : tf.sum(tensor, gone), letters: kept };
}

function arrange({ tensor, letters }: Lettered, wanted: string): tf.Tensor {
  const missing = [...wanted].find((letter) => !letters.includes(letter));
  if (missing !== undefined) throw new Error(`the result has the letter "${missing}", which no input has`);
  return tf.transpose(
    tensor,
    [...wanted].map((letter) => letters.indexOf(letter)),
  );
}

/** Letters of both are the batch if the result has them, and summed over if not. */
function multiply(x: Lettered, y: Lettered, result: string): Lettered {
  const letters = (text: string, fits: (letter: string) => boolean) => [...text].filter(fits).join("");
  const batch = letters(x.letters, (letter) => y.letters.includes(letter) && result.includes(letter));
  const inner = letters(x.letters, (letter) => y.letters.includes(letter) && !result.includes(letter));
  const rows = letters(x.letters, (letter) => !y.letters.includes(letter));
  const columns = letters(y.letters, (letter) => !x.letters.includes(letter));
  const sizes = new Map([...sizesOf(x), ...sizesOf(y)]);
  const size = (text: string) => [...text].reduce((product, letter) => product * sizes.get(letter)!, 1);
  for (const letter of batch + inner) checkSizes(letter, x, y);
  const a = tf.reshape(arrange(x, batch + rows + inner), [size(batch), size(rows), size(inner)]);
  const b = tf.reshape(arrange(y, batch + inner + columns), [size(batch), size(inner), size(columns)]);
  const product = a.size > 0 && b.size > 0 ? tf.matMul(a, b) : tf.zeros([size(batch), size(rows), size(columns)]);
  const axes = batch + rows + columns;
  const shape = [...axes].map((letter) => sizes.get(letter)!);
  return { tensor: tf.reshape(product, shape), letters: axes };
}

function sizesOf({ tensor, letters }: Lettered): [string, number][] {
  return [...letters].map((letter, axis) => [letter, tensor.shape[axis]!]);
}

function checkSizes(letter: string, x: Lettered, y: Lettered): void {
  const [m, n] = [x, y].map(({ tensor, letters }) => tensor.shape[letters.indexOf(letter)]);
  if (m !== n) throw new Error(`Expected dimension ${m} at axis "${letter}", but got ${n}`);
}

/** Products of matrices, also written with letters. */
export const PRODUCT_KERNELS: KernelTable = {
  MatMul: matMul,
  BatchMatMul: batchMatMul,
  BatchMatMulV2: batchMatMul,
  BatchMatMulV3: batchMatMul,
  Einsum: einsum,
};
