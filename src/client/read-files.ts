import { isBuffer } from "../tensor/json-text.ts";
import type { Values } from "../tensor/plain-value.ts";
import type { TensorSpec } from "../tensor/signature/signature.ts";
import { createTensor, type Tensor } from "../tensor/tensor.ts";

/** A Blob or File: what browsers have of a file, and `fs.openAsBlob` of Node. */
export interface FileLike {
  readonly size: number;
  readonly type: string;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** A Buffer of Node, by a method that no other array of bytes has. */
interface BufferLike extends Uint8Array {
  readUInt8(offset?: number): number;
}

/** Files for one input: each is an element of bytes, such as the file of an image. */
export type Files = FileLike | BufferLike | readonly (FileLike | BufferLike)[];

/** Values of a request, among them files. */
export type ValuesOrFiles = { readonly [name: string]: Values[string] | Files };

/**
 * Reads the files among values: each input of files becomes a tensor of bytes, of the rank that the model's input has.
 */
export async function readFiles(values: ValuesOrFiles, specs: readonly TensorSpec[] | undefined): Promise<Values> {
  const entries = Object.entries(values).map(async ([name, value]) => {
    const spec = specs?.find((one) => one.name === name);
    return [name, isFiles(value) ? await toTensor(value, spec) : value] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

function isFiles(value: Values[string] | Files): value is Files {
  if (Array.isArray(value)) return value.length > 0 && value.every(isFile);
  return isFile(value);
}

function isFile(value: unknown): value is FileLike | BufferLike {
  return isBuffer(value) || typeof (value as Partial<FileLike> | null)?.arrayBuffer === "function";
}

async function toTensor(value: Files, spec: TensorSpec | undefined): Promise<Tensor> {
  const files = Array.isArray(value) ? (value as readonly (FileLike | BufferLike)[]) : undefined;
  if (files !== undefined) return createTensor("bytes", [files.length], await Promise.all(files.map(read)));
  const rank = spec?.dtype === "bytes" ? (spec.shape?.length ?? 1) : 1;
  return createTensor("bytes", new Array(rank).fill(1), [await read(value as FileLike | BufferLike)]);
}

async function read(file: FileLike | BufferLike): Promise<Uint8Array> {
  return file instanceof Uint8Array ? file : new Uint8Array(await file.arrayBuffer());
}
