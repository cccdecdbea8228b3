import { varintsField } from "../../codecs/protobuf/packed-fields.ts";
import { WIRE, WireReader } from "../../codecs/protobuf/wire-reader.ts";
import { bytesField, encodeMessage, messageField, textField } from "../../codecs/protobuf/wire-writer.ts";
import { invalidArgument } from "../../errors.ts";
import { DecodeBudget } from "../../limits/decode-budget.ts";
import { datatypeOf } from "../../protocols/kserve/datatype.ts";
import { type InputFields, readInput } from "../../protocols/kserve/grpc-request-tensors.ts";
import { fromRaw, toRaw } from "../../protocols/kserve/raw-tensor.ts";
import { createTensors, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import type { ModelAddress } from "./model-address.ts";

/** Field numbers of inference.ModelInferRequest and ModelInferResponse, and of a tensor in either. */
const REQUEST = { model: 1, version: 2, inputs: 5, raw: 7 } as const;
const RESPONSE = { outputs: 5, raw: 6 } as const;
const TENSOR = { name: 1, datatype: 2, shape: 3 } as const;

/** Writes a ModelInferRequest with its values in raw_input_contents. */
export function encodeInferRequest(
  { model, version = "" }: Pick<ModelAddress, "model" | "version">,
  inputs: Tensors,
): Buffer {
  const entries = Object.entries(inputs);
  return encodeMessage([
    textField(REQUEST.model, model),
    textField(REQUEST.version, version),
    ...entries.map(([name, tensor]) => messageField(REQUEST.inputs, headOf(name, tensor))),
    ...entries.map(([, tensor]) => bytesField(REQUEST.raw, toRaw(tensor))),
  ]);
}

function headOf(name: string, { dtype, shape }: Tensor) {
  const datatype = datatypeOf(dtype)?.name;
  if (datatype === undefined) throw invalidArgument(`The input "${name}" is ${dtype}, which KServe V2 cannot carry.`);
  const sizes = shape.length === 0 ? [] : [varintsField(TENSOR.shape, BigInt64Array.from(shape, BigInt))];
  return [textField(TENSOR.name, name), textField(TENSOR.datatype, datatype), ...sizes];
}

/** The outputs of a ModelInferResponse, whose tensors have the fields of a request's; throws `invalid_argument` for malformed bytes. */
export function decodeInferResponse(bytes: Uint8Array, model: string): Tensors {
  const budget = new DecodeBudget(Number.MAX_SAFE_INTEGER);
  const reader = new WireReader(bytes, "ModelInferResponse");
  const outputs: InputFields[] = [];
  const raw: Uint8Array[] = [];
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === ((RESPONSE.outputs << 3) | WIRE.bytes))
      outputs.push(readInput(reader.nested("InferOutputTensor"), budget));
    else if (tag === ((RESPONSE.raw << 3) | WIRE.bytes)) raw.push(reader.bytes());
    else reader.skip(tag);
  }
  return createTensors(
    outputs.map(({ head, contents }, index) => {
      const values = raw[index];
      const tensor = values === undefined ? contents.toTensor(head, model) : fromRaw(head, values, { model, budget });
      return [head.name, tensor];
    }),
  );
}
