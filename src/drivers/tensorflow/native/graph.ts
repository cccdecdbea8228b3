import { invalidArgument } from "../../../errors.ts";
import type { Pointer } from "../../../platform/native/bind-functions.ts";
import { didYouMean } from "../../../platform/text/nearest.ts";
import type { DType } from "../../../tensor/dtype.ts";
import { dataTypeName, toDType } from "../saved-model/data-type.ts";
import { type TensorflowApi, withStatus } from "./c-api.ts";

/** Bytes of a TF_Output: an address and an int, padded. */
const OUTPUT_BYTES = 16;

/** One output of an operation, which can be fed and fetched. */
export interface GraphTensor {
  /** The operation's name and, unless it was left out, `:` and the output's number. */
  readonly name: string;
  readonly operation: Pointer;
  readonly index: number;
}

/** An operation as seen by hooks. */
export interface GraphOperation {
  readonly name: string;
  readonly type: string;
  readonly outputs: readonly { readonly name: string; readonly dtype: string; readonly shape?: readonly number[] }[];
}

/** A graph's operations and tensors; unusable once the graph is deleted. */
export class TensorflowGraph {
  readonly #api: TensorflowApi;
  readonly #pointer: Pointer;

  constructor(api: TensorflowApi, pointer: Pointer) {
    this.#api = api;
    this.#pointer = pointer;
  }

  /** The operation of a name; throws `invalid_argument` for one that the graph lacks. */
  operation(name: string): Pick<GraphTensor, "name" | "operation"> {
    const operation = this.#api.TF_GraphOperationByName(this.#pointer, name);
    if (operation !== null) return { name, operation };
    const hint = didYouMean(
      name,
      [...this.#pointers()].map((each) => this.#nameOf(each)),
    );
    throw invalidArgument(`The graph has no operation "${name}".${hint}`);
  }

  /** The tensor of a name (`name` or `name:0`); throws `invalid_argument` for one that the graph lacks. */
  tensor(name: string): GraphTensor {
    const [, operationName = name, digits = "0"] = /^(.*):(\d+)$/.exec(name) ?? [];
    const { operation } = this.operation(operationName);
    const count = this.#api.TF_OperationNumOutputs(operation);
    const index = Number(digits);
    if (index < count) return { name, operation, index };
    const has = count === 1 ? "one output" : `${count} outputs`;
    throw invalidArgument(`The operation "${operationName}" has ${has}; there is no "${operationName}:${digits}".`);
  }

  /** Checks if there is an operation that has a tensor of this name as one of its outputs. */
  has(name: string): boolean {
    const operation = this.#api.TF_GraphOperationByName(this.#pointer, name.replace(/:\d+$/, ""));
    return operation !== null && Number(/:(\d+)$/.exec(name)?.[1] ?? 0) < this.#api.TF_OperationNumOutputs(operation);
  }

  /** TensorFlow's number of a tensor's type. */
  dataType({ operation, index }: GraphTensor): number {
    return this.#api.TF_OperationOutputType({ oper: operation, index });
  }

  /** The dtype that carries a tensor; undefined for one that no request can carry. */
  dtype(tensor: GraphTensor): DType | undefined {
    return toDType(this.dataType(tensor));
  }

  /** Dimensions, -1 for any size; undefined for any rank. */
  shape({ operation, index }: GraphTensor): readonly number[] | undefined {
    const output = { oper: operation, index };
    const rank = withStatus(this.#api, (status) => this.#api.TF_GraphGetTensorNumDims(this.#pointer, output, status));
    if (rank < 0) return undefined;
    const dims = new BigInt64Array(Math.max(1, rank));
    withStatus(this.#api, (status) => this.#api.TF_GraphGetTensorShape(this.#pointer, output, dims, rank, status));
    return Array.from(dims.subarray(0, rank), Number);
  }

  /** Every operation, in the graph's order. */
  operations(): GraphOperation[] {
    return [...this.#pointers()].map((pointer) => {
      const name = this.#nameOf(pointer);
      const count = this.#api.TF_OperationNumOutputs(pointer);
      return {
        name,
        type: this.#typeOf(pointer),
        outputs: Array.from({ length: count }, (_, index) => {
          const tensor = { name: `${name}:${index}`, operation: pointer, index };
          const shape = this.shape(tensor);
          const type = this.dataType(tensor);
          return { name: tensor.name, dtype: toDType(type) ?? dataTypeName(type), ...(shape && { shape }) };
        }),
      };
    });
  }

  /** Checks if any operation is of one of these types. */
  hasAny(types: readonly string[]): boolean {
    return [...this.#pointers()].some((pointer) => types.includes(this.#typeOf(pointer)));
  }

  /** Placeholders without a default, which a run needs. */
  placeholders(): GraphTensor[] {
    const found = [...this.#pointers()].filter((pointer) => this.#typeOf(pointer) === "Placeholder");
    return found.map((operation) => ({ name: this.#nameOf(operation), operation, index: 0 }));
  }

  /** Outputs that nothing in the graph takes, of operations that take something. */
  results(): GraphTensor[] {
    const ends = [...this.#pointers()].filter((pointer) => this.#isEnd(pointer));
    return ends.flatMap((operation) => {
      const name = this.#nameOf(operation);
      const count = this.#api.TF_OperationNumOutputs(operation);
      if (count === 1) return [{ name, operation, index: 0 }];
      return Array.from({ length: count }, (_, index) => ({ name: `${name}:${index}`, operation, index }));
    });
  }

  #isEnd(operation: Pointer): boolean {
    const count = this.#api.TF_OperationNumOutputs(operation);
    if (count === 0 || this.#api.TF_OperationNumInputs(operation) === 0) return false;
    const outputs = Array.from({ length: count }, (_, index) => ({ oper: operation, index }));
    return outputs.every((output) => this.#api.TF_OperationOutputNumConsumers(output) === 0);
  }

  *#pointers(): Generator<Pointer> {
    const position = new BigUint64Array(1);
    for (;;) {
      const operation = this.#api.TF_GraphNextOperation(this.#pointer, position);
      if (operation === null) return;
      yield operation;
    }
  }

  #nameOf(operation: Pointer): string {
    return this.#api.TF_OperationName(operation) ?? "";
  }

  #typeOf(operation: Pointer): string {
    return this.#api.TF_OperationOpType(operation) ?? "";
  }
}

/** An array of TF_Output. */
export function encodeOutputs(tensors: readonly GraphTensor[]): Uint8Array {
  const bytes = new Uint8Array(tensors.length * OUTPUT_BYTES);
  const view = new DataView(bytes.buffer);
  for (const [position, { operation, index }] of tensors.entries()) {
    view.setBigUint64(position * OUTPUT_BYTES, operation, true);
    view.setInt32(position * OUTPUT_BYTES + 8, index, true);
  }
  return bytes;
}

/**
 * The operations that these need, with themselves. What a graph has in addition restores, initialises and saves the
 * model, to files of any name.
 */
export function servedPart(api: TensorflowApi, operations: readonly Pointer[]): ReadonlySet<Pointer> {
  const found = new Set(operations);
  // A set is walked to its end while it grows.
  for (const operation of found) {
    for (const needed of [...inputsOf(api, operation), ...controlInputsOf(api, operation)]) found.add(needed);
  }
  return found;
}

function inputsOf(api: TensorflowApi, operation: Pointer): Pointer[] {
  const count = api.TF_OperationNumInputs(operation);
  if (count === 0) return [];
  const outputs = new Uint8Array(count * OUTPUT_BYTES);
  api.TF_OperationAllInputs(operation, outputs, count);
  const view = new DataView(outputs.buffer);
  return Array.from({ length: count }, (_, index) => view.getBigUint64(index * OUTPUT_BYTES, true));
}

function controlInputsOf(api: TensorflowApi, operation: Pointer): BigUint64Array {
  const count = api.TF_OperationNumControlInputs(operation);
  const operations = new BigUint64Array(count);
  if (count > 0) api.TF_OperationGetControlInputs(operation, operations, count);
  return operations;
}
