import { readWideVarints } from "../../codecs/protobuf/packed-varints.ts";
import { WIRE, type WireReader } from "../../codecs/protobuf/wire-reader.ts";
import type { DecodeBudget } from "../../limits/decode-budget.ts";
import type { MemoryPlace } from "../../shared-memory/memory-place.ts";
import { MAX_RANK } from "../../tensor/tensor.ts";
import { KserveContents } from "./grpc-contents.ts";
import { readParameter } from "./grpc-parameters.ts";
import type { RequestedOutput } from "./kserve-request.ts";
import type { Parameter } from "./parameters.ts";
import type { InputHead } from "./raw-tensor.ts";
import { readPlace } from "./read-place.ts";

/** Field numbers of a ModelInferRequest's tensors. */
const INPUT = { name: 1, datatype: 2, shape: 3, parameters: 4, contents: 5 } as const;
const OUTPUT = { name: 1, parameters: 2 } as const;
/** Field of an input's typed values. */
export const INPUT_CONTENTS = INPUT.contents;

/** Memory of one input or output while it is read, so that a message of empty ones cannot fill the memory. */
const TENSOR_BYTES = 512;

/** One input before its values are interpreted. */
export interface InputFields {
  readonly head: InputHead;
  readonly contents: KserveContents;
  /** Place of its values in shared memory; undefined = they are in the message. */
  readonly place: MemoryPlace | undefined;
}

/** Reads an InferInputTensor. */
export function readInput(reader: WireReader, budget: DecodeBudget): InputFields {
  budget.spend(TENSOR_BYTES, () => "one more input");
  const contents = new KserveContents(budget);
  const shape: number[] = [];
  const parameters = new Map<string, Parameter>();
  let [name, datatype] = ["", ""];
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === ((INPUT.name << 3) | WIRE.bytes)) name = reader.text();
    else if (tag === ((INPUT.datatype << 3) | WIRE.bytes)) datatype = reader.text();
    else if (tag === ((INPUT.shape << 3) | WIRE.bytes)) readSizes(reader, shape);
    else if (tag === ((INPUT.shape << 3) | WIRE.varint)) addSize(reader, shape, reader.integer());
    else if (tag === ((INPUT.contents << 3) | WIRE.bytes)) contents.read(reader.nested("InferTensorContents"));
    else if (tag === ((INPUT.parameters << 3) | WIRE.bytes))
      readParameter(reader.nested("inputs.parameters"), parameters, budget);
    else reader.skip(tag);
  }
  return { head: { name, datatype, shape }, contents, place: readPlace(parameters, name) };
}

/** Dimensions, packed. */
function readSizes(reader: WireReader, shape: number[]): void {
  const block = reader.bytes();
  const sizes = new BigInt64Array(Math.min(block.length, MAX_RANK + 1));
  const count = readWideVarints(block, sizes);
  for (const size of sizes.subarray(0, count)) addSize(reader, shape, Number(size));
}

function addSize(reader: WireReader, shape: number[], size: number): void {
  if (shape.length === MAX_RANK) throw reader.malformed(`a shape has more than ${MAX_RANK} dimensions`);
  shape.push(size);
}

/** Reads an InferRequestedOutputTensor. */
export function readOutput(reader: WireReader, budget: DecodeBudget): RequestedOutput {
  budget.spend(TENSOR_BYTES, () => "one more output");
  const parameters = new Map<string, Parameter>();
  let name = "";
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === ((OUTPUT.name << 3) | WIRE.bytes)) name = reader.text();
    else if (tag === ((OUTPUT.parameters << 3) | WIRE.bytes))
      readParameter(reader.nested("outputs.parameters"), parameters, budget);
    else reader.skip(tag);
  }
  return { name, parameters };
}
