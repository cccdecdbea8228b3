import { Worker } from "node:worker_threads";
import { failedPrecondition } from "../../../errors.ts";
import { expectFirstSign } from "../../../platform/async/first-sign.ts";
import { createDeferred } from "../../../platform/async/promises.ts";
import type { H5Answer, H5Question } from "./h5-thread.ts";

/** A stored numeric array. */
export interface StoredArray {
  readonly name: string;
  readonly shape: readonly number[];
  /** Reads it, which may take any memory: its shape is to be checked before. Rejects as {@link H5File.array} does. */
  read(): Promise<Float32Array>;
}

/** An open HDF5 file. */
export interface H5File {
  /** An attribute of a group; undefined if either is missing. */
  attribute(group: string, name: string): Promise<unknown>;
  /** Names of a group's members; none if it is missing. */
  names(group: string): Promise<readonly string[]>;
  /** An array of float32; rejects with `failed_precondition` if there is none, or, when read, for another type. */
  array(path: string): Promise<StoredArray>;
}

const ENTRY = new URL("../../../../dist/drivers/tensorflow/keras/h5-thread-entry.js", import.meta.url);
/** Milliseconds that one answer about a file may take, and bytes of it for each of which there is one more. */
const [LIMIT_MS, BYTES_PER_MS] = [20_000, 10_000];

/**
 * Opens an HDF5 file that is in memory, for as long as `read` runs, in its own thread, which takes the bytes: some
 * damaged files hold h5wasm for ever. Rejects with `failed_precondition` for those, for bytes in another format, and
 * if h5wasm is not installed; `label` names the file in messages.
 */
export async function withH5<T>(
  bytes: Uint8Array,
  label: string,
  read: (file: H5File) => Promise<T>,
  limitMs = LIMIT_MS + bytes.length / BYTES_PER_MS,
): Promise<T> {
  // A small one is a part of a buffer that others have parts of, too.
  const own = bytes.length === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
  const thread = new Worker(ENTRY, { workerData: own, transferList: [own.buffer as ArrayBuffer], name: "h5" });
  const ended = new Promise<never>((_, reject) => {
    thread.once("error", reject).once("exit", (code) => reject(new Error(`its thread has ended with ${code}`)));
  });
  ended.catch(() => {});
  const ask = async (question: H5Question) => {
    const late = createDeferred<never>();
    const heard = expectFirstSign(() => late.reject(tookTooLong(label, limitMs)), limitMs);
    const message = new Promise<H5Answer>((resolve) => thread.once("message", resolve));
    thread.postMessage(question);
    try {
      return answered(await Promise.race([message, ended, late.promise]), label);
    } finally {
      heard();
    }
  };
  try {
    return await read(toH5File(ask, label));
  } finally {
    await thread.terminate();
  }
}

function toH5File(ask: (question: H5Question) => Promise<unknown>, label: string): H5File {
  return {
    attribute: (group, attribute) => ask({ path: group, attribute }),
    names: async (group) => (await ask({ path: group, what: "names" })) as readonly string[],
    array: async (path) => {
      const missing = () => failedPrecondition(`The file "${label}" has no float32 array "${path}".`);
      const shape = (await ask({ path, what: "shape" })) as readonly number[] | undefined;
      if (shape === undefined) throw missing();
      const read = async () => {
        const values = await ask({ path, what: "values" });
        if (values === undefined) throw missing();
        return values as Float32Array;
      };
      return { name: path, shape, read };
    },
  };
}

function answered(answer: H5Answer, label: string): unknown {
  if ("value" in answer) return answer.value;
  if ("refusal" in answer) throw failedPrecondition(answer.refusal);
  if ("failure" in answer) throw new Error(answer.failure);
  const message = `The file "${label}" is damaged or cut short: its HDF5 content cannot be read.`;
  throw failedPrecondition(message, new Error(answer.damage));
}

function tookTooLong(label: string, limitMs: number): Error {
  const seconds = Math.round(limitMs / 100) / 10;
  return failedPrecondition(
    `The file "${label}" is damaged: its HDF5 content could not be read within ${seconds} s. Save or copy it again.`,
  );
}
