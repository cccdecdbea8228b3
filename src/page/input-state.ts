import type { PageTensor } from "../protocols/page/page-data.ts";
import { countOf, type FormTensor } from "./form-tensor.ts";
import { parseInput } from "./parse-values.ts";

/** A file that a person has chosen. */
export interface ChosenFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** For the page's own image of it; absent = it is not an image. */
  readonly imageUrl?: string | undefined;
}

/** The state of the fields of an input. */
export interface InputState {
  readonly shape: string;
  readonly values: string;
  readonly file?: ChosenFile | undefined;
  /** True if the file goes as a text: base64 in the alphabet for URLs, for models that decode it themselves. */
  readonly isEncoded?: boolean;
  /** True if the input is left out. */
  readonly isOmitted?: boolean;
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
  try {
    return parseInput({ name, datatype: datatype || "FP32", shape, values });
  } catch (reason) {
    throw new Error(`${name}: ${reason instanceof Error ? reason.message : reason}`);
  }
}

/** Bytes that become characters at a time, as a call has only so many arguments. */
const CHUNK_BYTES = 0x8000;

function toUrlSafe(bytes: Uint8Array): string {
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
  const isImage = file.type.startsWith("image/");
  return { name: file.name, bytes, ...(isImage && { imageUrl: URL.createObjectURL(file) }) };
}
