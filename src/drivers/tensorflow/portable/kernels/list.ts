import * as tf from "@tensorflow/tfjs-core";
import { carrierOfType } from "../element-types.ts";
import type { HostDType } from "../host-math.ts";
import type { KernelFactory, KernelTable, OpNode } from "../op-node.ts";
import { asList, asTensor, numberOf, numbersOf, TensorList, type Value } from "../values.ts";

function carrier(node: OpNode): HostDType {
  return carrierOfType(node.type("element_dtype")) ?? node.refuse("of strings");
}

/** A shape tensor: -1 alone, as a scalar, means any rank. */
function shapeFrom(value: Value | undefined): readonly number[] | undefined {
  return asTensor(value).rank === 0 ? undefined : numbersOf(value);
}

const reserve: KernelFactory = (node) => {
  const type = carrier(node);
  return (shape, count) => {
    const items = new Array<undefined>(numberOf(count)).fill(undefined);
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
    const tensor = asTensor(x);
    const items = tensor.shape[0] === 0 ? [] : tf.unstack(tensor);
    const given = shapeFrom(shape);
    return new TensorList(items, { elementShape: given ?? tensor.shape.slice(1), carrier: type });
  };
};

const setItem: KernelFactory = (node) => {
  const resizes = node.flag("resize_if_index_out_of_bounds", false);
  return (list, index, item) => {
    const old = asList(list);
    const place = numberOf(index);
    if (place < 0 || (place >= old.items.length && !resizes))
      throw new Error(`Trying to modify element ${place} in a list with ${old.items.length} elements.`);
    const items = [...old.items];
    while (items.length < place) items.push(undefined);
    items[place] = asTensor(item).clone();
    return new TensorList(items, old);
  };
};

const getItem: KernelFactory = () => (list, index, shape) => {
  const { items } = asList(list);
  const place = numberOf(index);
  if (place < 0 || place >= items.length)
    throw new Error(`Trying to access element ${place} in a list with ${items.length} elements.`);
  return items[place]?.clone() ?? zerosOf(asList(list), shapeFrom(shape));
};

/** An item that nobody set is zeros, where its shape is known. */
function zerosOf(list: TensorList, wanted: readonly number[] | undefined): tf.Tensor {
  const shape = completeShape([list.elementShape, wanted, ...list.items.map((item) => item?.shape)]);
  return tf.zeros([...shape], list.carrier);
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
    if (items.length === 0) return tf.zeros([0, ...completeShape([shapeFrom(shape), elementShape])], type);
    return tf.tidy(() => tf.stack(items.map((item) => item ?? zerosOf(asList(list), shapeFrom(shape)))));
  };
};

const pushBack: KernelFactory = () => (list, item) =>
  new TensorList([...asList(list).items, asTensor(item).clone()], asList(list));

const popBack: KernelFactory = () => (list, shape) => {
  const old = asList(list);
  if (old.items.length === 0) throw new Error("Trying to pop from an empty list.");
  return [new TensorList(old.items.slice(0, -1), old), old.items.at(-1)?.clone() ?? zerosOf(old, shapeFrom(shape))];
};

const concat: KernelFactory = () => (list) => {
  const { items } = asList(list);
  const present = items.filter((item) => item !== undefined);
  if (present.length === 0 || present.length < items.length)
    throw new Error("All tensors of a list that is concatenated have to be set.");
  const lengths = present.map(({ shape }) => shape[0] as number);
  return [tf.concat(present), tf.tensor1d(lengths, "int32")];
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
