import { defineJob } from "../../codec-host/job.ts";
import { invalidArgument, type ServingError } from "../../errors.ts";
import { DecodeBudget } from "../../limits/memory/decode-budget.ts";
import type { DType } from "../../tensor/dtype.ts";
import { createTensors, type Tensor } from "../../tensor/tensor.ts";
import { splitForm } from "../split-form.ts";
import { dtypeOfName } from "./dtype.ts";
import { countElements, elementsOf, filesToTensor, textsToTensor } from "./form-tensor.ts";
import type { KibernetikaRequest } from "./http-codec.ts";

/** Types that may precede the first underscore of a field's name, for files and for texts. */
export const FORM_TYPES = [
  "float",
  "double",
  "int",
  "int8",
  "int16",
  "int32",
  "int64",
  "uint8",
  "uint16",
  "uint32",
  "uint64",
  "bool",
  "string",
  "strings",
  "byte",
  "bytes",
] as const;
/** One of {@link FORM_TYPES}. */
type FormType = (typeof FORM_TYPES)[number];

/**
 * Parses a form whose fields are called TYPE_NAME, with `out_filter` or `out_filters` and `out_mime_type` in addition.
 * `contentType` is the header, which has the boundary; `maxBytes` bounds what is made of the body.
 */
export async function parseKibernetikaForm(
  body: Uint8Array,
  contentType: string,
  maxBytes: number,
): Promise<KibernetikaRequest> {
  const budget = new DecodeBudget(maxBytes);
  const { texts, files } = await splitForm(body, contentType);
  const inputs = new Map<string, Tensor>();
  const add = (field: string, name: string, tensor: Tensor) => {
    if (inputs.has(name)) throw invalidArgument(`Field "${field}" is a second value for input "${name}".`);
    inputs.set(name, tensor);
  };
  for (const [field, values] of texts) {
    const target = targetOf(field);
    if (target !== undefined) add(field, target.name, textsToTensor(values, { field, ...target }, budget));
  }
  for (const [field, values] of files) {
    const target = targetOf(field);
    if (target === undefined) throw unknownType(field);
    add(field, target.name, filesToTensor(values, { field, ...target }, budget));
  }
  const filter = [...(texts.get("out_filter") ?? []), ...(texts.get("out_filters") ?? [])];
  budget.countOutputs(countElements(filter));
  const outFilter = [...elementsOf(filter)].filter((name) => name !== "");
  return { inputs: createTensors(inputs), outFilter, outMimeType: texts.get("out_mime_type")?.[0] ?? "" };
}

/** {@link parseKibernetikaForm} for a codec thread. */
export const parseKibernetikaFormJob = defineJob(import.meta.url, "parseKibernetikaFormJob", parseKibernetikaForm);

interface Target {
  readonly type: FormType;
  readonly dtype: DType;
  readonly name: string;
}

/** The meaning of TYPE_NAME; undefined for a field of another kind, such as `raw_input`. */
function targetOf(field: string): Target | undefined {
  const [prefix] = field.split("_", 1);
  const type = FORM_TYPES.find((known) => known === prefix);
  const dtype = type && dtypeOfName(type);
  const name = field.slice(`${type}_`.length);
  return type === undefined || dtype === undefined || name === "" ? undefined : { type, dtype, name };
}

function unknownType(field: string): ServingError {
  return invalidArgument(`File field "${field}" is not called TYPE_NAME; TYPE is one of ${FORM_TYPES.join(", ")}.`);
}
