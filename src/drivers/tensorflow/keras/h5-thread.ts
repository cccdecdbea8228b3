import type { MessagePort } from "node:worker_threads";
import type { File as H5wasmFile, Group as H5wasmGroup } from "h5wasm";
import { failedPrecondition, reasonText, ServingError } from "../../../errors.ts";
import { npmInstall } from "../../../npm-install.ts";

type H5wasm = typeof import("h5wasm");

/** A question about a group or an array of a file. */
export type H5Question =
  | { readonly path: string; readonly attribute: string }
  | { readonly path: string; readonly what: "names" | "shape" | "values" };

/** The answer; undefined stands for one that is missing, or is no array of float32. */
export type H5Answer =
  | { readonly value: unknown }
  /** The library's text about a damaged file. */
  | { readonly damage: string }
  /** The text of an error that is for the user. */
  | { readonly refusal: string }
  | { readonly failure: string };

/** Bytes that the library may take in addition to the size of its file, and for each number of an array. */
const [BASE_BYTES, BYTES_PER_NUMBER] = [256 * 1024 * 1024, 16];
const PAGE_BYTES = 64 * 1024;

/** The part that Node's types leave out. */
interface LibraryMemory {
  readonly WebAssembly: {
    readonly Memory: { readonly prototype: { readonly buffer: ArrayBuffer; grow(pages: number): number } };
  };
}

let maxBytes = BASE_BYTES;

/** Answers questions about a file that is in memory, until the thread is ended. */
export function runH5Thread(port: MessagePort, bytes: Uint8Array): void {
  maxBytes += bytes.length;
  limitMemory();
  const opening = openH5(bytes);
  // Each question gets its reason.
  opening.catch(() => {});
  port.on("message", async (question: H5Question) => {
    try {
      const value = answerTo(question, await opening);
      port.postMessage({ value } satisfies H5Answer);
    } catch (reason) {
      port.postMessage(toAnswer(reason));
    }
  });
}

/** A list in a damaged file may lead back to itself: without a limit, reading it takes all memory of the machine. */
function limitMemory(): void {
  const { prototype } = (globalThis as unknown as LibraryMemory).WebAssembly.Memory;
  const { grow } = prototype;
  prototype.grow = function (pages) {
    if (this.buffer.byteLength + pages * PAGE_BYTES > maxBytes) throw new RangeError("more than the file explains");
    return grow.call(this, pages);
  };
}

async function openH5(bytes: Uint8Array): Promise<H5wasmFile> {
  const h5wasm = await importH5wasm();
  const module = await h5wasm.ready;
  // Otherwise it writes to standard error and continues.
  module.activate_throwing_error_handler();
  module.FS.writeFile("/model.h5", bytes);
  return new h5wasm.File("/model.h5", "r");
}

/** Imports h5wasm; throws `failed_precondition` with the way to install it. */
export async function importH5wasm(load: () => Promise<unknown> = () => import("h5wasm")): Promise<H5wasm> {
  try {
    return (await load()) as H5wasm;
  } catch (cause) {
    const message = `Keras files (.h5, .keras) need the package h5wasm. Run: ${npmInstall("h5wasm")}`;
    throw failedPrecondition(message, cause);
  }
}

function answerTo(question: H5Question, file: H5wasmFile): unknown {
  const found = file.get(question.path) as (Partial<H5wasmGroup> & { shape?: number[]; value?: unknown }) | null;
  if ("attribute" in question) return found?.attrs?.[question.attribute]?.value;
  if (question.what === "names") return found?.keys?.() ?? [];
  if (question.what === "values") return toFloats(valuesOf(found));
  return found === null ? undefined : (found.shape ?? []);
}

/** Its shape is the model's, which is checked before it is asked for. */
function valuesOf(found: { shape?: number[]; value?: unknown } | null): unknown {
  maxBytes += (found?.shape ?? []).reduce((product, size) => product * size, BYTES_PER_NUMBER);
  return found?.value;
}

function toFloats(value: unknown): Float32Array | undefined {
  if (value instanceof Float32Array) return value;
  // A scalar, or a count.
  return typeof value === "number" || typeof value === "bigint" ? Float32Array.of(Number(value)) : undefined;
}

function toAnswer(reason: unknown): H5Answer {
  const text = reasonText(reason);
  if (reason instanceof ServingError) return { refusal: text };
  return text.startsWith("HDF5-DIAG") ? { damage: text } : { failure: text };
}
