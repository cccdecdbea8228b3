import busboy from "busboy";
import { defineJob } from "../../codec-host/job.ts";
import { invalidArgument, publicText, ServingError } from "../../errors.ts";
import { DecodeBudget, MAX_INPUTS } from "../../limits/decode-budget.ts";
import type { DType } from "../../tensor/dtype.ts";
import { createTensors, type Tensor } from "../../tensor/tensor.ts";
import { dtypeOfName } from "./dtype.ts";
import { filesToTensor, textsToTensor } from "./form-tensor.ts";
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
  const outFilter = filter.flatMap((names) => names.split(",")).filter((name) => name !== "");
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
  const [prefix = "", ...rest] = field.split("_");
  const type = FORM_TYPES.find((known) => known === prefix);
  const dtype = type && dtypeOfName(type);
  const name = rest.join("_");
  return type === undefined || dtype === undefined || name === "" ? undefined : { type, dtype, name };
}

interface Form {
  readonly texts: ReadonlyMap<string, readonly string[]>;
  readonly files: ReadonlyMap<string, readonly Buffer[]>;
}

function splitForm(body: Uint8Array, contentType: string): Promise<Form> {
  const texts = new Map<string, string[]>();
  const files = new Map<string, Buffer[]>();
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown) => {
      reject(new ServingError("invalid_argument", `The form cannot be read: ${publicText(cause)}.`, { cause }));
    };
    try {
      const limits = { fieldNameSize: body.length, fieldSize: body.length, parts: MAX_INPUTS + 1 };
      const parser = busboy({ headers: { "content-type": contentType }, limits, defParamCharset: "utf8" });
      // The name of a part may be undefined, although its type is string.
      parser.on("field", (name: string | undefined, value) => append(texts, name ?? "", value));
      parser.on("file", (name: string | undefined, stream) => {
        const chunks: Buffer[] = [];
        stream.on("data", (chunk: Buffer) => chunks.push(chunk));
        stream.on("error", fail);
        stream.on("end", () => append(files, name ?? "", Buffer.concat(chunks)));
      });
      parser.on("partsLimit", () =>
        reject(invalidArgument(`The form has more than ${MAX_INPUTS} fields and files; send fewer.`)),
      );
      parser.on("error", fail);
      parser.on("close", () => resolve({ texts, files }));
      parser.end(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
    } catch (reason) {
      fail(reason);
    }
  });
}

function append<Value>(fields: Map<string, Value[]>, name: string, value: Value): void {
  const values = fields.get(name);
  if (values === undefined) fields.set(name, [value]);
  else values.push(value);
}

function unknownType(field: string): ServingError {
  return invalidArgument(`File field "${field}" is not called TYPE_NAME; TYPE is one of ${FORM_TYPES.join(", ")}.`);
}
