import { randomUUID } from "node:crypto";
import type { File as H5wasmFile, Group as H5wasmGroup } from "h5wasm";
import { failedPrecondition, reasonText } from "../../../errors.ts";
import { npmInstall } from "../../../npm-install.ts";

type H5wasm = typeof import("h5wasm");

/** A stored numeric array. */
export interface StoredArray {
  readonly name: string;
  readonly shape: readonly number[];
  /** Reads it, which may take any memory: its shape is to be checked before. Throws as {@link H5File.array} does. */
  read(): Float32Array;
}

/** An open HDF5 file. */
export interface H5File {
  /** An attribute of a group; undefined where either is missing. */
  attribute(group: string, name: string): unknown;
  /** Names of a group's members; none where it is missing. */
  names(group: string): readonly string[];
  /** An array of float32; throws `failed_precondition` where there is none, and when it is read for another type. */
  array(path: string): StoredArray;
}

/**
 * Opens an HDF5 file that is in memory, for as long as `read` runs.
 * Throws `failed_precondition` for bytes in another format, and where h5wasm is not
 * installed; `label` names the file in messages.
 */
export async function withH5<T>(bytes: Uint8Array, label: string, read: (file: H5File) => T | Promise<T>): Promise<T> {
  const h5wasm = await importH5wasm();
  const module = await h5wasm.ready;
  // Otherwise it writes to standard error and continues.
  module.activate_throwing_error_handler();
  const path = `/${randomUUID()}.h5`;
  module.FS.writeFile(path, bytes);
  try {
    const file = new h5wasm.File(path, "r");
    return await using(file, () => read(toH5File(file, label)));
  } catch (cause) {
    if (!reasonText(cause).startsWith("HDF5-DIAG")) throw cause;
    throw failedPrecondition(`The file "${label}" is damaged or cut short: its HDF5 content cannot be read.`, cause);
  } finally {
    module.FS.unlink(path);
  }
}

async function using<T>(file: H5wasmFile, use: () => T | Promise<T>): Promise<T> {
  try {
    return await use();
  } finally {
    file.close();
  }
}

/** Imports h5wasm at the first use; throws `failed_precondition` with the way to install it. */
export async function importH5wasm(load: () => Promise<unknown> = () => import("h5wasm")): Promise<H5wasm> {
  try {
    return (await load()) as H5wasm;
  } catch (cause) {
    const message = `Keras files (.h5, .keras) need the package h5wasm. Run: ${npmInstall("h5wasm")}`;
    throw failedPrecondition(message, cause);
  }
}

function toH5File(file: H5wasmFile, label: string): H5File {
  const groupAt = (path: string) => file.get(path) as H5wasmGroup | null;
  return {
    attribute: (group, name) => groupAt(group)?.attrs[name]?.value,
    names: (group) => groupAt(group)?.keys?.() ?? [],
    array: (path) => {
      const dataset = file.get(path) as { shape?: number[]; value?: unknown } | null;
      const missing = () => failedPrecondition(`The file "${label}" has no float32 array "${path}".`);
      if (dataset === null) throw missing();
      const read = () => {
        const data = dataset.value;
        if (data instanceof Float32Array) return data;
        // A scalar, or a count.
        if (typeof data === "number" || typeof data === "bigint") return Float32Array.of(Number(data));
        throw missing();
      };
      return { name: path, shape: dataset.shape ?? [], read };
    },
  };
}
