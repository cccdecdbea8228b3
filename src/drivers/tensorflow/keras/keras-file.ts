import { readFileSync } from "node:fs";
import { buffer } from "node:stream/consumers";
import { failedPrecondition, reasonText } from "../../../errors.ts";
import { ZipArchive, type ZipEntry } from "../../../storage/archives/zip-archive.ts";
import type { ModelSource } from "../model-source.ts";
import { type H5File, withH5 } from "./h5-file.ts";

/** Layout of weights in a file: by class and number in .keras, by lists of names in .h5. */
type WeightLayout = "archive" | "h5";

/** Parts of a Keras file that are read while it is open. */
export interface KerasFile {
  readonly config: KerasConfig;
  readonly layout: WeightLayout;
  /** The file that holds the weights. */
  readonly weights: H5File;
}

/** Opens a .keras or .h5 file while `read` runs; throws `failed_precondition` with the file's error. */
export async function withKerasFile<T>(
  { format, path }: ModelSource,
  read: (file: KerasFile) => Promise<T>,
): Promise<T> {
  if (format === "h5") return withH5(readFileSync(path), path, async (weights) => read(await toH5Model(weights, path)));
  const { config, metadata, weights } = await readArchive(path);
  const { keras_version } = parseJson(metadata, path) as { keras_version?: string };
  const root = parseJson(config, path) as LayerConfig;
  return withH5(weights, path, (file) => {
    return read({ config: { root, major: majorOf(keras_version) }, layout: "archive", weights: file });
  });
}

async function toH5Model(weights: H5File, path: string): Promise<KerasFile> {
  const text = await weights.attribute("/", "model_config");
  if (typeof text !== "string") {
    const hint = "Save the whole model with model.save(), or export it with model.export().";
    throw failedPrecondition(
      `The file "${path}" has no model_config: it holds weights without a model, or is not of Keras. ${hint}`,
    );
  }
  const root = parseJson(text, path) as LayerConfig;
  const version =
    (await weights.attribute("/", "keras_version")) ?? (await weights.attribute("model_weights", "keras_version"));
  return { config: { root, major: majorOf(version) }, layout: "h5", weights };
}

/** Maximum size of a text, and of weights that are packed more tightly than any are. */
const MAX_TEXT_BYTES = 64 * 1024 * 1024;
const MAX_PACKED_BYTES = 1024 ** 3;
const MAX_RATIO = 200;

/** The files of a .keras archive. */
const PARTS = { config: "config.json", metadata: "metadata.json", weights: "model.weights.h5" } as const;

async function readArchive(path: string): Promise<Record<keyof typeof PARTS, Buffer>> {
  try {
    const archive = await ZipArchive.open(path);
    const read = async (name: string): Promise<Buffer> => {
      const entry = archive.entries.find((one) => one.name === name);
      if (entry === undefined) throw new Error(`it has no ${name}`);
      if (entry.bytes > maxBytesOf(entry)) throw new Error(`its ${name} claims ${entry.bytes} bytes`);
      return buffer(await archive.read(entry));
    };
    try {
      return {
        config: await read(PARTS.config),
        metadata: await read(PARTS.metadata),
        weights: await read(PARTS.weights),
      };
    } finally {
      await archive.close();
    }
  } catch (cause) {
    throw failedPrecondition(
      `The file "${path}" is not a .keras archive: ${reasonText(cause).replace(/\.$/, "")}.`,
      cause,
    );
  }
}

function maxBytesOf({ name, compressedBytes, isDeflated }: ZipEntry): number {
  if (name !== PARTS.weights) return MAX_TEXT_BYTES;
  return isDeflated ? Math.max(MAX_PACKED_BYTES, MAX_RATIO * compressedBytes) : Number.POSITIVE_INFINITY;
}

function parseJson(text: string | Buffer, path: string): unknown {
  try {
    return JSON.parse(text.toString());
  } catch (cause) {
    throw failedPrecondition(`The file "${path}" is damaged: its model's description is not JSON.`, cause);
  }
}

/** The first number of a version of Keras; those before 3 are alike here. */
export function majorOf(version: unknown): number {
  return Number.parseInt(String(version ?? "2"), 10) || 2;
}

/** A layer as Keras writes it, whatever its version. */
export interface LayerConfig {
  readonly class_name: string;
  /** Keras 3 names the module of the class; Keras 2 does not. */
  readonly module?: string | null;
  readonly config: Readonly<Record<string, unknown>>;
  readonly name?: string;
  readonly inbound_nodes?: readonly unknown[];
}

/** A model's architecture: `model_config` of an .h5 file, `config.json` of a .keras file. */
export interface KerasConfig {
  readonly root: LayerConfig;
  /** The first number of the version of Keras that wrote it. */
  readonly major: number;
}

/** Models within models: what tfjs-layers calls them, by their classes in Keras. */
export const CONTAINERS: Readonly<Record<string, "Sequential" | "Model">> = {
  Sequential: "Sequential",
  Functional: "Model",
  Model: "Model",
};

/** Checks that a layer is a model of layers. */
export function isContainer({ class_name }: LayerConfig): boolean {
  return Object.hasOwn(CONTAINERS, class_name);
}

/** The layers of a model; a Sequential of Keras 2.1 is the bare list. */
export function layersOf({ config }: LayerConfig): readonly LayerConfig[] {
  const layers = Array.isArray(config) ? config : config.layers;
  return Array.isArray(layers) ? (layers as LayerConfig[]) : [];
}

/** A layer's name. */
export function nameOf({ config, name }: LayerConfig): string {
  return String(config.name ?? name ?? "");
}
