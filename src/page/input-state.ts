import type { PageTensor } from "../protocols/page/page-data.ts";
import { isObject } from "../tensor/record.ts";
import { countOf, type FormTensor } from "./form-tensor.ts";
import { parseInput, shapeOfValues } from "./parse-values.ts";
import { isWrittenTable, type WrittenTable } from "./table-values.ts";

/** A file that a person has chosen. */
export interface ChosenFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** The browser's own. */
  readonly source: File;
  readonly isImage: boolean;
  /** True if it is a photo that the page has made grey. */
  readonly isGrey?: true;
}

/** The state of the fields of an input. */
export interface InputState {
  readonly shape: string;
  readonly values: string;
  /** True if a person has written the shape, which follows the values otherwise. */
  readonly isShapeOwn?: boolean;
  readonly file?: ChosenFile | undefined;
  /** True if the file goes as a text: base64 in the alphabet for URLs, for models that decode it themselves. */
  readonly isEncoded?: boolean;
  /** True if photos are made grey, for a model of one channel. */
  readonly isGrey?: boolean;
  /** True if the input is left out. */
  readonly isOmitted?: boolean;
}

/** The state with other values. */
export function withValues({ datatype, shape: declared }: PageTensor, state: InputState, values: string): InputState {
  // Rows have their own shape, whatever was written next to them.
  if (state.isShapeOwn === true && !/^\s*\[\s*\[/.test(values)) return { ...state, values };
  const found = shapeOfValues({ values, datatype: datatype || "FP32" }, declared);
  return { ...state, values, isShapeOwn: false, shape: found?.join(", ") ?? state.shape };
}

/** The state with a shape that a person has written; an empty one follows the values again. */
export function withShape(state: InputState, shape: string): InputState {
  return { ...state, shape, isShapeOwn: shape.trim() !== "" };
}

/** The input as it is sent; undefined if it is left out. Throws an Error that names the input. */
export function toFormTensor(
  tensor: PageTensor,
  { shape, values, file, isEncoded, isOmitted }: InputState,
): FormTensor | undefined {
  const { name, datatype } = tensor;
  if (isOmitted === true) return undefined;
  if (file !== undefined) {
    const value = isEncoded === true ? toUrlSafe(file.bytes) : file.bytes;
    return { name, datatype: "BYTES", shape: fileShape(tensor), values: [value], file: file.name };
  }
  const written = { name, datatype: datatype || "FP32", shape, values };
  const followed = shape.trim() === "" ? shapeOfValues(written, tensor.shape)?.join(", ") : undefined;
  try {
    return parseInput({ ...written, shape: followed ?? shape });
  } catch (reason) {
    throw new Error(`${name}: ${reason instanceof Error ? reason.message : reason}`);
  }
}

/** Bytes that become characters at a time, as a call has only so many arguments. */
const CHUNK_BYTES = 0x8000;

/** Base64 in the alphabet for URLs. */
export function toUrlSafe(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES)
    binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK_BYTES));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_");
}

/** That of one element of BYTES, or of one image for an input of pixels. */
function fileShape({ datatype, shape = [1] }: PageTensor): readonly number[] {
  const sizes = shape.map((size) => (size < 0 ? 1 : size));
  return datatype === "BYTES" && countOf(sizes) === 1 ? sizes : [1];
}

/** Reads a file. */
export async function chooseFile(file: File): Promise<ChosenFile> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  return { name: file.name, bytes, source: file, isImage: file.type.startsWith("image/") };
}

/** Texts of a form, which are kept and put into links. */
export interface WrittenForm {
  readonly inputs: readonly WrittenField[];
  /** Inputs of any names, as JSON. */
  readonly free?: string | undefined;
  readonly table?: WrittenTable | undefined;
}

/** Texts of the fields of an input. */
export type WrittenField = { readonly name: string } & Pick<
  InputState,
  "shape" | "values" | "isShapeOwn" | "isOmitted"
>;

/** The texts of an input's fields; undefined if it has a file, which is sent in their place. */
export function toWrittenField(
  name: string,
  { shape, values, isShapeOwn, isOmitted, file }: InputState,
): WrittenField | undefined {
  if (file !== undefined) return undefined;
  return { name, shape, values, ...(isShapeOwn && { isShapeOwn }), ...(isOmitted && { isOmitted }) };
}

/** A form of a browser's storage, or of a link that anyone may have written; undefined for anything else. */
export function readWrittenForm(value: unknown): WrittenForm | undefined {
  if (!isObject(value)) return undefined;
  const { inputs, free, table } = value;
  if (!Array.isArray(inputs) || !inputs.every(isWrittenField)) return undefined;
  if (!(free === undefined || typeof free === "string") || !(table === undefined || isWrittenTable(table)))
    return undefined;
  return { inputs, free, table };
}

function isWrittenField(value: unknown): value is WrittenField {
  if (!isObject(value)) return false;
  const { name, shape, values, isShapeOwn = false, isOmitted = false } = value;
  const hasTexts = [name, shape, values].every((text) => typeof text === "string");
  return hasTexts && [isShapeOwn, isOmitted].every((flag) => typeof flag === "boolean");
}

/** Names of inputs that may hold secrets. */
const SECRET =
  /passw|pwd|secret|(?:api|access|private)[-_ ]?key|credential|authorization|jwt|(?:access|auth|bearer|refresh|session|api|hf|^)[-_ ]?token$/i;
const NAMES_IN_JSON = /["']?([\w $-]{1,200})["']?\s*:/g;

/** The form without inputs whose names say that they are secrets; undefined if nothing is left. */
export function withoutSecrets({ inputs, free, table }: WrittenForm): WrittenForm | undefined {
  if (hasSecretNames(free ?? "") || table?.names.some((name) => SECRET.test(name))) return undefined;
  const told = inputs.filter(({ name, values }) => !SECRET.test(name) && !hasSecretNames(values));
  return told.length === 0 && inputs.length > 0 ? undefined : { inputs: told, free, table };
}

/** Names at any depth, also in texts that are nearly JSON. */
function hasSecretNames(text: string): boolean {
  const names = [...text.matchAll(NAMES_IN_JSON)].map(([, name = ""]) => name);
  return names.some((name) => SECRET.test(name));
}
