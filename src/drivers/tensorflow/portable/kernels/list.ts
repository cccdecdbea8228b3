import * as tf from "@tensorflow/tfjs-core";
import { elementCount } from "../../../../tensor/tensor.ts";
import { dataTypeName } from "../../saved-model/data-type.ts";
import { sizeOfNew } from "../../tfjs/tensor-size.ts";
import { carrierOfType, TYPE } from "../element-types.ts";
import type { KernelFactory, KernelTable, OpNode } from "../op-node.ts";
import { asList, asTensor, listOf, moveElements, numberOf, Strings, TensorList, type Value } from "../values.ts";

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

const reserve: KernelFactory = (node) => {
  const type = carrier(node);
  return (shape, count) => {
    const length = sizeOfNew([numberOf(count)], "A list", true);
    const items = new Array<undefined>(length).fill(undefined);
    return new TensorList(items, { elementShape: shapeFrom(shape), carrier: type });
  };
};

const empty: KernelFactory = (node) => {
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

const stack: KernelFactory = (node) => {
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

const concat: KernelFactory = () => (list) => {
  const { items } = asList(list);
  const present = items.filter((item) => item !== undefined);
  if (present.length === 0 || present.length < items.length)
    throw new Error("All tensors of a list that is concatenated have to be set.");
  const lengths = present.map(({ shape }) => shape[0]!);
  return [moveElements(present, (tensors) => tf.concat(tensors)), tf.tensor1d(lengths, "int32")];
};

/** Lists of tensors, as loops and recurrent layers use them. */
export const LIST_KERNELS: KernelTable = {
  TensorListReserve: reserve,
  EmptyTensorList: empty,
  TensorListFromTensor: fromTensor,
  TensorListSetItem: setItem,
  TensorListGetItem: getItem,
  TensorListStack: stack,
  TensorListPushBack: pushBack,
  TensorListPopBack: popBack,
  TensorListConcatV2: concat,
  TensorListLength: () => (list) => tf.scalar(asList(list).items.length, "int32"),
};
