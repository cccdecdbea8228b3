import * as tf from "@tensorflow/tfjs-core";
import { elementCount } from "../../../../tensor/tensor.ts";
import { dataTypeName } from "../../saved-model/data-type.ts";
import {
  type ExampleMessage,
  type FeatureKind,
  type FeatureValues,
  parseMessage,
} from "../../saved-model/tensorflow-messages.ts";
import { carrierOfType, TYPE } from "../element-types.ts";
import type { KernelFactory, KernelTable, OpNode } from "../op-node.ts";
import { asStrings, asTensor, Strings, type Value } from "../values.ts";

/** A feature of fixed shape, or one of any length whose values are told apart by places. */
interface Feature {
  readonly key: string;
  readonly type: number;
}

interface DenseFeature extends Feature {
  /** Of one example; the values of a variable first dimension are not known here. */
  readonly shape: readonly number[];
  /** Used if an example lacks the feature; without elements, every example must have it. */
  readonly fallback: tf.Tensor | Strings;
}

const parseExampleV2: KernelFactory = (node) => {
  if (node.types("ragged_value_types").length > 0) return node.refuse("with ragged features");
  const declared = readDeclared(node);
  return (serialized, _names, sparseKeys, denseKeys, _raggedKeys, ...fallbacks) =>
    parseAll(serialized, declared, { sparse: keysOf(sparseKeys), dense: keysOf(denseKeys), fallbacks });
};

/** The first version has an input for each key. */
const parseExampleV1: KernelFactory = (node) => {
  const declared = readDeclared(node);
  const [sparse, dense] = [declared.sparseTypes.length, declared.denseTypes.length];
  return (serialized, _names, ...rest) => {
    const keys = rest.slice(0, sparse + dense).flatMap(keysOf);
    const fallbacks = rest.slice(sparse + dense);
    return parseAll(serialized, declared, { sparse: keys.slice(0, sparse), dense: keys.slice(sparse), fallbacks });
  };
};

/** A node's declarations of its features. */
interface Declared {
  readonly sparseTypes: readonly number[];
  readonly denseTypes: readonly number[];
  readonly shapes: readonly (readonly number[])[];
}

function readDeclared(node: OpNode): Declared {
  const shapes = node.shapes("dense_shapes").map((shape) => fixedShape(node, shape));
  return { sparseTypes: node.types("sparse_types"), denseTypes: node.types("Tdense"), shapes };
}

/** Names in its inputs. */
interface Named {
  readonly sparse: readonly string[];
  readonly dense: readonly string[];
  readonly fallbacks: readonly Value[];
}

function parseAll(serialized: Value | undefined, { sparseTypes, denseTypes, shapes }: Declared, named: Named): Value[] {
  const input = asStrings(serialized);
  if (input.shape.length !== 1) throw new Error("a single example is not known here; give a list of them");
  const examples = input.elements.map(parseExample);
  const columns = named.sparse.map((key, index) => sparseColumn(examples, { key, type: sparseTypes[index]! }));
  const dense = named.dense.map((key, index) =>
    denseColumn(examples, {
      key,
      type: denseTypes[index]!,
      shape: shapes[index]!,
      fallback: named.fallbacks[index] as DenseFeature["fallback"],
    }),
  );
  return [...[0, 1, 2].flatMap((part) => columns.map((column) => column[part]!)), ...dense];
}

function fixedShape(node: OpNode, shape: readonly number[] | undefined): readonly number[] {
  return shape?.every((size) => size >= 0) ? shape : node.refuse("with features of variable length");
}

function keysOf(value: Value | undefined): string[] {
  return asStrings(value).elements.map((element) => Buffer.from(element).toString());
}

type Example = ReadonlyMap<string, FeatureKind>;

const TYPES: Readonly<Record<FeatureKind["case"], number>> = {
  bytesList: TYPE.string,
  floatList: TYPE.float,
  int64List: TYPE.int64,
};

/** The values of an example's feature, which may be none; undefined if it lacks it. Throws for another type's. */
function valuesOf(example: Example, { key, type }: Feature, index: number): FeatureValues | undefined {
  const found = example.get(key);
  if (found === undefined) return undefined;
  if (TYPES[found.case] === type) return found.value.value;
  throw new Error(
    `Name: <unknown>, Key: ${key}, Index: ${index}.  Data types don't match. Expected type: ${dataTypeName(type)}`,
  );
}

function denseColumn(examples: readonly Example[], feature: DenseFeature): Value {
  const count = elementCount(feature.shape);
  const values = examples.flatMap((example, index) => {
    const found = valuesOf(example, feature, index) ?? fallbackOf(feature, index, count);
    if (found.length === count) return found;
    throw new Error(
      `Key: ${feature.key}, Index: ${index}.  Number of ${dataTypeName(feature.type)} values != expected.  Values size: ${found.length} but output shape: [${feature.shape}]`,
    );
  });
  return toColumn(values, [examples.length, ...feature.shape], feature.type);
}

/** A single default stands for every element. */
function fallbackOf({ key, fallback }: DenseFeature, index: number, count: number): FeatureValues {
  const values: FeatureValues =
    fallback instanceof Strings ? fallback.elements : Array.from(asTensor(fallback).dataSync());
  if (values.length === 0 && count > 0)
    throw new Error(
      `Name: <unknown>, Feature: ${key} (data type: required) is required but could not be found. Index: ${index}`,
    );
  return values.length === 1
    ? new Array<FeatureValues[number]>(count).fill(values[0] as FeatureValues[number])
    : values;
}

/** Places, values and shape. */
function sparseColumn(examples: readonly Example[], feature: Feature): readonly [Value, Value, Value] {
  const rows = examples.map((example, index) => valuesOf(example, feature, index) ?? []);
  const values = rows.flat();
  const places = rows.flatMap((row, index) => row.flatMap((_, place) => [index, place]));
  const longest = rows.reduce((most, row) => Math.max(most, row.length), 0);
  return [
    tf.tensor(places, [values.length, 2], "int32"),
    toColumn(values, [values.length], feature.type),
    tf.tensor1d([examples.length, longest], "int32"),
  ];
}

function toColumn(values: FeatureValues, shape: readonly number[], type: number): Value {
  if (type === TYPE.string) return new Strings(shape, values as readonly Uint8Array[]);
  return tf.tensor(values.map(toNumber), [...shape], carrierOfType(type));
}

function toNumber(value: FeatureValues[number]): number {
  const number = Number(value);
  if (typeof value === "bigint" && (number > 0x7fffffff || number < -0x80000000))
    throw new Error(`an example has the integer ${value}, which 32 bits with sign do not hold`);
  return number;
}

/** Examples, as TensorFlow's data files have them. */
export const PARSE_EXAMPLE_KERNELS: KernelTable = { ParseExample: parseExampleV1, ParseExampleV2: parseExampleV2 };

/** The features of a serialized `tf.train.Example` that have a kind; throws an Error for any other bytes. */
function parseExample(bytes: Uint8Array): ReadonlyMap<string, FeatureKind> {
  const features = Object.entries(parse(bytes).features?.feature ?? {});
  return new Map(features.flatMap(([key, { kind }]) => (kind.case === undefined ? [] : [[key, kind]])));
}

function parse(bytes: Uint8Array): ExampleMessage {
  try {
    return parseMessage("Example", bytes);
  } catch (cause) {
    throw new Error("Could not parse example input", { cause });
  }
}
