import { parseExactJson, tensorFromJson } from "../../codecs/json/tensor-from-json.ts";
import { invalidArgument } from "../../errors.ts";
import { DecodeBudget } from "../../limits/memory/decode-budget.ts";
import { datatypeNamed } from "../../protocols/kserve/datatype.ts";
import { fromRaw } from "../../protocols/kserve/raw-tensor.ts";
import { createTensors, type Tensor } from "../../tensor/tensor.ts";
import type { ModelAnswer } from "../transport.ts";

interface WireOutput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data?: unknown;
  readonly parameters?: { readonly binary_data_size?: number };
}

interface WireAnswer {
  readonly model_name?: string;
  readonly model_version?: string;
  readonly outputs?: readonly WireOutput[];
}

/**
 * Reads the body of an answer of KServe V2; `jsonBytes` = length of its JSON, null = all of it. Throws
 * `invalid_argument` for any other body.
 */
export function readAnswer(body: Uint8Array, jsonBytes: string | null): Omit<ModelAnswer, "metadata"> {
  const end = jsonBytes === null ? body.length : Number(jsonBytes);
  const answer = parseExactJson(new TextDecoder().decode(body.subarray(0, end))) as WireAnswer;
  const model = answer.model_name ?? "";
  const budget = new DecodeBudget(Number.POSITIVE_INFINITY);
  let position = end;
  const outputs = (answer.outputs ?? []).map((output) => {
    const size = output.parameters?.binary_data_size;
    if (size === undefined) return [output.name, fromJson(output)] as const;
    const raw = body.subarray(position, position + size);
    position += size;
    return [output.name, fromRaw(output, raw, { model, budget })] as const;
  });
  return { model, version: answer.model_version ?? "", outputs: createTensors(outputs) };
}

function fromJson({ name, datatype, shape, data = [] }: WireOutput): Tensor {
  const dtype = datatypeNamed(datatype)?.dtype;
  if (dtype === undefined)
    throw invalidArgument(`Output "${name}" is ${datatype}, which is not a datatype of KServe V2.`);
  return tensorFromJson(name, { dtype, shape, data });
}
