import * as tf from "@tensorflow/tfjs-core";
import { invalidArgument } from "../../../../errors.ts";
import { fromTensorProto } from "../../saved-model/tensor-proto.ts";
import type { KernelFactory, KernelTable, RunFunction } from "../op-node.ts";
import { asTensor, HashTable, numberOf, Strings, toValue, type Value, Variable } from "../values.ts";
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

/** Constants, variables, tables that were filled while the model was loaded, branches and loops, and identities. */
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
};
