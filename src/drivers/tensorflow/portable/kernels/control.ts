import * as tf from "@tensorflow/tfjs-core";
import { invalidArgument } from "../../../../errors.ts";
import { elementCount } from "../../../../tensor/tensor.ts";
import { dataTypeName } from "../../saved-model/data-type.ts";
import { fromTensorProto } from "../../saved-model/tensor-proto.ts";
import { sizeOfNew } from "../../tfjs/kernel-checks.ts";
import { carrierOfType, TYPE } from "../element-types.ts";
import type { KernelFactory, KernelTable, OpNode, RunFunction } from "../op-node.ts";
import {
  asList,
  asTensor,
  HashTable,
  listOf,
  moveElements,
  numberOf,
  Strings,
  TensorList,
  toValue,
  type Value,
  Variable,
} from "../values.ts";
import { pass } from "./shape.ts";

const constant: KernelFactory = (node) => {
  const value = toValue(
    fromTensorProto(node.tensor("value"), `the constant "${node.name}"`),
    `The constant "${node.name}"`,
  );
  return () => value;
};

/**
 * A condition as TensorFlow takes it: a number that is not 0, a string that is not empty, or a tensor with elements.
 */
function isTrue(value: Value | undefined): boolean {
  if (value instanceof Strings)
    return value.shape.length === 0 ? value.elements[0]!.length > 0 : value.elements.length > 0;
  const tensor = asTensor(value);
  return tensor.rank === 0 ? numberOf(tensor) !== 0 : tensor.size > 0;
}

/** A condition of another shape, which comes of an input of another shape, would never be false. */
function asScalar(value: Value | undefined): Value | undefined {
  const { shape } = value instanceof Strings ? value : asTensor(value);
  if (shape.length === 0) return value;
  throw new Error(`the loop's condition must be a scalar, but it has shape [${shape}]`);
}

const choice: KernelFactory = (node) => {
  const [then, otherwise] = [node.run("then_branch"), node.run("else_branch")];
  return (condition, ...inputs) => (isTrue(condition) ? then(inputs) : otherwise(inputs));
};

const cases: KernelFactory = (node) => {
  const branches = node.runs("branches");
  return (index, ...inputs) => {
    const wanted = numberOf(index);
    const branch = wanted >= 0 && wanted < branches.length ? branches[wanted] : branches.at(-1);
    return (branch as RunFunction)(inputs);
  };
};

const loop: KernelFactory = (node) => {
  const [condition, body] = [node.run("cond"), node.run("body")];
  return (...inputs) => {
    let state: readonly Value[] = inputs;
    for (;;) {
      const [verdict] = condition(state);
      if (!isTrue(asScalar(verdict)))
        return state === inputs ? inputs.map((x) => (x instanceof tf.Tensor ? x.clone() : x)) : state;
      const next = body(state);
      if (state !== inputs) for (const value of state) if (value instanceof tf.Tensor) value.dispose();
      state = next;
    }
  };
};

const assertion: KernelFactory =
  () =>
  (condition, ...data) => {
    if (isTrue(condition)) return [];
    const texts = data.map((value) => describe(value));
    throw invalidArgument(`assertion failed: ${texts.map((text) => `[${text}]`).join(" ")}`);
  };

function describe(value: Value): string {
  if (value instanceof Strings) return value.elements.map((element) => Buffer.from(element).toString()).join(" ");
  return Array.from(asTensor(value).dataSync()).slice(0, 3).join(" ");
}

const checkNumerics: KernelFactory = (node) => {
  const message = node.text("message", "");
  return (x) => {
    const tensor = asTensor(x);
    if (!tensor.dataSync().every(Number.isFinite)) throw invalidArgument(`${message} : Tensor had Inf or NaN values`);
    return tensor.clone();
  };
};

const readVariable: KernelFactory = () => (handle) => {
  if (!(handle instanceof Variable)) throw new Error("expected a variable");
  return handle.value instanceof tf.Tensor ? handle.value.clone() : handle.value;
};

const resource: KernelFactory = (node) => {
  const held = node.resource();
  return () => held;
};

/** A variable of TensorFlow 1 is its value; each program has its own, since the model's is freed after loading. */
const referenceVariable: KernelFactory = (node) => {
  const held = node.resource();
  return () => (held instanceof Variable ? readVariable(node)(held) : held);
};

const several: KernelFactory =
  () =>
  (...inputs) =>
    inputs.map((x) => (x instanceof tf.Tensor ? x.clone() : x));
const nothing: KernelFactory = () => () => [];

const find: KernelFactory = () => (table, keys, fallback) => asTable(table).find(keys as Value, fallback as Value);
const size: KernelFactory = () => (table) => tf.scalar(asTable(table).size, "int32");

function asTable(value: Value | undefined): HashTable {
  if (value instanceof HashTable) return value;
  throw new Error("expected a table");
}

/** An item of a list. */
type Item = tf.Tensor | Strings;

function carrier(node: OpNode): TensorList["carrier"] {
  const type = node.type("element_dtype");
  if (type === TYPE.string) return "string";
  return carrierOfType(type) ?? node.refuse(`of ${dataTypeName(type)}`);
}

/** The item for two owners. */
function share(item: Value | undefined): Item {
  return item instanceof Strings ? item : asTensor(item).clone();
}

/** A shape tensor: -1 alone, as a scalar, means any rank. */
function shapeFrom(value: Value | undefined): readonly number[] | undefined {
  return asTensor(value).rank === 0 ? undefined : listOf(value, "element_shape");
}

const reserveList: KernelFactory = (node) => {
  const type = carrier(node);
  return (shape, count) => {
    const length = sizeOfNew([numberOf(count)], "A list", true);
    const items = new Array<undefined>(length).fill(undefined);
    return new TensorList(items, { elementShape: shapeFrom(shape), carrier: type });
  };
};

const emptyList: KernelFactory = (node) => {
  const type = carrier(node);
  return (shape) => new TensorList([], { elementShape: shapeFrom(shape), carrier: type });
};

const fromTensor: KernelFactory = (node) => {
  const type = carrier(node);
  return (x, shape) => {
    const whole = x instanceof Strings ? x : asTensor(x);
    const items = whole.shape[0] === 0 ? [] : moveElements([whole], ([tensor]) => tf.unstack(tensor as tf.Tensor));
    const given = shapeFrom(shape);
    return new TensorList(items as Item[], { elementShape: given ?? whole.shape.slice(1), carrier: type });
  };
};

const setItem: KernelFactory = (node) => {
  const resizes = node.flag("resize_if_index_out_of_bounds", false);
  return (list, index, item) => {
    const old = asList(list);
    const place = numberOf(index);
    if (place < 0 || (place >= old.items.length && !resizes))
      throw new Error(`Trying to modify element ${place} in a list with ${old.items.length} elements.`);
    sizeOfNew([place], "A list", true);
    const items = [...old.items];
    while (items.length < place) items.push(undefined);
    items[place] = share(item);
    return new TensorList(items, old);
  };
};

const getItem: KernelFactory = () => (list, index, shape) => {
  const { items } = asList(list);
  const place = numberOf(index);
  if (place < 0 || place >= items.length)
    throw new Error(`Trying to access element ${place} in a list with ${items.length} elements.`);
  return items[place] ? share(items[place]) : zerosOf(asList(list), shapeFrom(shape));
};

/** An item that was not set is zeros or empty strings, if its shape is known. */
function zerosOf(list: TensorList, wanted: readonly number[] | undefined): Item {
  const shape = completeShape([list.elementShape, wanted, ...list.items.map((item) => item?.shape)]);
  return filled([...shape], list.carrier);
}

function filled(shape: number[], type: TensorList["carrier"]): Item {
  sizeOfNew(shape, "An item of a list", type === "string");
  if (type !== "string") return tf.zeros(shape, type);
  return new Strings(
    shape,
    Array.from({ length: elementCount(shape) }, () => new Uint8Array()),
  );
}

function completeShape(shapes: readonly (readonly number[] | undefined)[]): readonly number[] {
  const found = shapes.find((shape) => shape?.every((size) => size >= 0));
  if (found !== undefined) return found;
  throw new Error(
    "Trying to stack a list with only uninitialized tensors and an element shape that is not fully defined.",
  );
}

const stackItems: KernelFactory = (node) => {
  const count = node.integer("num_elements", -1);
  return (list, shape) => {
    const { items, carrier: type, elementShape } = asList(list);
    if (count !== -1 && count !== items.length)
      throw new Error(`Operation expected a list with ${count} elements but got a list with ${items.length} elements.`);
    if (items.length === 0) return filled([0, ...completeShape([shapeFrom(shape), elementShape])], type);
    const all = () => {
      const blank = items.includes(undefined) ? zerosOf(asList(list), shapeFrom(shape)) : undefined;
      return items.map((item) => item ?? (blank as Item));
    };
    return tf.tidy(() => moveElements(all(), (tensors) => tf.stack(tensors)) as never) as Value;
  };
};

const pushBack: KernelFactory = () => (list, item) =>
  new TensorList([...asList(list).items, share(item)], asList(list));

const popBack: KernelFactory = () => (list, shape) => {
  const old = asList(list);
  if (old.items.length === 0) throw new Error("Trying to pop from an empty list.");
  const last = old.items.at(-1);
  return [new TensorList(old.items.slice(0, -1), old), last ? share(last) : zerosOf(old, shapeFrom(shape))];
};

const concatItems: KernelFactory = () => (list) => {
  const { items } = asList(list);
  const present = items.filter((item) => item !== undefined);
  if (present.length === 0 || present.length < items.length)
    throw new Error("All tensors of a list that is concatenated have to be set.");
  const lengths = present.map(({ shape }) => shape[0]!);
  return [moveElements(present, (tensors) => tf.concat(tensors)), tf.tensor1d(lengths, "int32")];
};

/**
 * Constants, variables, tables that were filled while the model was loaded, branches, loops and their lists, and
 * identities.
 */
export const CONTROL_KERNELS: KernelTable = {
  Const: constant,
  Identity: pass,
  Snapshot: pass,
  StopGradient: pass,
  PreventGradient: pass,
  PlaceholderWithDefault: pass,
  IdentityN: several,
  CheckNumerics: checkNumerics,
  NoOp: nothing,
  Assert: assertion,
  VarHandleOp: resource,
  ReadVariableOp: readVariable,
  VariableV2: referenceVariable,
  Variable: referenceVariable,
  HashTable: resource,
  HashTableV2: resource,
  MutableHashTable: resource,
  MutableHashTableV2: resource,
  LookupTableFind: find,
  LookupTableFindV2: find,
  LookupTableSize: size,
  LookupTableSizeV2: size,
  If: choice,
  StatelessIf: choice,
  Case: cases,
  StatelessCase: cases,
  While: loop,
  StatelessWhile: loop,
  TensorListReserve: reserveList,
  EmptyTensorList: emptyList,
  TensorListFromTensor: fromTensor,
  TensorListSetItem: setItem,
  TensorListGetItem: getItem,
  TensorListStack: stackItems,
  TensorListPushBack: pushBack,
  TensorListPopBack: popBack,
  TensorListConcatV2: concatItems,
  TensorListLength: () => (list) => tf.scalar(asList(list).items.length, "int32"),
};
