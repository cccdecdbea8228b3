import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { io } from "@tensorflow/tfjs-core";
import { failedPrecondition } from "../../../errors.ts";

/** Weights that are together in some of the files next to a model.json. */
type WeightsGroup = io.WeightsManifestConfig[number];

/** Bytes of one element as it is stored. */
const STORED_BYTES: Readonly<Record<string, number>> = {
  float32: 4,
  int32: 4,
  bool: 1,
  complex64: 8,
  float16: 2,
  uint8: 1,
  uint16: 2,
};

/**
 * Reads a model.json and the weight files next to it; throws `failed_precondition` naming a file that is missing or cut
 * short.
 */
export function readModelJson(path: string): io.ModelArtifacts {
  const model = JSON.parse(readFileSync(path, "utf8")) as io.ModelJSON;
  const { weightsManifest: groups = [], ...rest } = model;
  const weights = groups.map((group) => readGroup(group, path));
  const weightData = Uint8Array.from(Buffer.concat(weights)).buffer;
  return { ...rest, weightSpecs: groups.flatMap(({ weights: specs }) => specs), weightData };
}

function readGroup({ paths, weights }: WeightsGroup, model: string): Buffer {
  const shards = Buffer.concat(paths.map((name) => readShard(model, name)));
  let end = 0;
  for (const spec of weights) end += storedBytes(spec, shards.subarray(end), model);
  if (shards.length >= end) return shards.subarray(0, end);
  const files = paths.join(", ");
  throw failedPrecondition(`The weights of "${model}" are cut short: ${files} have ${shards.length} bytes of ${end}.`);
}

function readShard(model: string, name: string): Buffer {
  const folder = dirname(model);
  const file = join(folder, name);
  if (relative(folder, file).startsWith("..")) {
    throw failedPrecondition(`The weight file "${name}" of "${model}" lies outside the model's folder.`);
  }
  try {
    return readFileSync(file);
  } catch (cause) {
    const missing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    const what = missing ? "is missing; put it next to the model.json" : "cannot be read";
    throw failedPrecondition(`The weight file "${name}" of "${model}" ${what}.`, cause);
  }
}

/** The bytes of one weight, which begins where `rest` does; more than there are where it is cut short. */
function storedBytes(spec: io.WeightsManifestEntry, rest: Buffer, model: string): number {
  const { name, shape, dtype, quantization } = spec;
  const count = shape.reduce((product, size) => product * size, 1);
  const stored = quantization?.dtype ?? dtype;
  if (stored === "string") return textBytes(rest, count);
  const bytes = STORED_BYTES[stored];
  if (bytes === undefined)
    throw failedPrecondition(`The weight "${name}" of "${model}" is stored as ${stored}, which is not known.`);
  return bytes * count;
}

/** Each text follows its length, in four bytes. */
function textBytes(rest: Buffer, count: number): number {
  let end = 0;
  for (let index = 0; index < count; index++) {
    end += 4 + (end + 4 <= rest.length ? rest.readUInt32LE(end) : 0);
  }
  return end;
}
