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
  /** True where the input is left out. */
  readonly isOmitted?: boolean;
}

/** The input as it is sent; undefined where it is left out. Throws an Error that names the input. */
export function toFormTensor(
  tensor: PageTensor,
  { shape, values, file, isOmitted }: InputState,
): FormTensor | undefined {
  const { name, datatype } = tensor;
  if (isOmitted === true) return undefined;
  if (file !== undefined)
    return { name, datatype: "BYTES", shape: fileShape(tensor), values: [file.bytes], file: file.name };
  try {
    return parseInput({ name, datatype: datatype || "FP32", shape, values });
  } catch (reason) {
    throw new Error(`${name}: ${reason instanceof Error ? reason.message : reason}`);
  }
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
