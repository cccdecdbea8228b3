import { readFileSync } from "node:fs";
import { type H5File, withH5 } from "../../src/drivers/tensorflow/keras/h5-file.ts";
import type { Decoder } from "./decoder.ts";

/** Milliseconds for each answer about a file, and of one core for all of them with the start of the thread. */
const [ANSWER_MS, MAX_MS] = [1500, 10_000];
const [MOST_NAMES, MOST_LEVELS] = [8, 4];
const SAMPLES = ["merging", "gru"];

/**
 * The reader of HDF5 files, each of which takes a thread of its own, which a damaged one may hold until its time is
 * over: a few in a second. What reads them is a library in WebAssembly, whose branches nobody counts.
 */
export function hdf5Decoder(): Decoder {
  return {
    name: "an HDF5 file",
    samples: SAMPLES.map((name) =>
      readFileSync(new URL(`../fixtures/tensorflow-formats/${name}/model.h5`, import.meta.url)),
    ),
    decode: (bytes) => withH5(new Uint8Array(bytes), "a.h5", readAll, ANSWER_MS),
    maxMs: MAX_MS,
  };
}

async function readAll(file: H5File): Promise<void> {
  await file.attribute("/", "model_config");
  await file.attribute("model_weights", "layer_names");
  await readGroup(file, "", MOST_LEVELS);
}

async function readGroup(file: H5File, path: string, levels: number): Promise<void> {
  await file.attribute(path || "/", "weight_names");
  const names = await file.names(path || "/");
  const array = names.length === 0 ? await file.array(path) : undefined;
  // An empty group has no shape either.
  if (array !== undefined && array.shape.length > 0) await array.read();
  if (levels > 0) for (const name of names.slice(0, MOST_NAMES)) await readGroup(file, `${path}/${name}`, levels - 1);
}
