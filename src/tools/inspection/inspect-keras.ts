import { readFileSync } from "node:fs";
import { isContainer, type LayerConfig, layersOf, withKerasFile } from "../../drivers/tensorflow/keras/keras-file.ts";
import type { ModelSource } from "../../drivers/tensorflow/model-source.ts";
import { countOne, countWeight, type FileFacts, type WeightCount } from "./file-facts.ts";

/** Facts about a .keras or .h5 file: its layers. */
export function inspectKeras(source: ModelSource): Promise<FileFacts> {
  return withKerasFile(source, async ({ config: { root, major } }) => {
    const operators = new Map<string, number>();
    for (const { class_name: name } of allLayers(root)) countOne(operators, name);
    const name = String((root.config as { name?: unknown }).name ?? "");
    return {
      format: source.format === "h5" ? "Keras HDF5 file" : "Keras archive",
      producer: `Keras ${major}`,
      operators,
      metadata: { class: root.class_name, ...(name !== "" && { name }) },
    };
  });
}

function allLayers(model: LayerConfig): LayerConfig[] {
  return layersOf(model).flatMap((layer) => (isContainer(layer) ? allLayers(layer) : [layer]));
}

/** The parts of a model.json that are looked at. */
interface ModelJson {
  readonly format?: string;
  readonly generatedBy?: string;
  readonly convertedBy?: string;
  readonly modelTopology?: {
    readonly node?: readonly { readonly op: string }[];
    readonly keras_version?: string;
    readonly backend?: string;
    readonly model_config?: LayerJson;
  } & Partial<LayerJson>;
  readonly weightsManifest?: readonly { readonly weights: readonly WeightJson[] }[];
}

interface LayerJson {
  readonly class_name: string;
  readonly config: readonly LayerJson[] | { readonly layers?: readonly LayerJson[] };
}

interface WeightJson {
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly quantization?: { readonly dtype: string };
}

/** Bytes of an element as it is stored. */
const BYTES: Readonly<Record<string, number>> = { bool: 1, uint8: 1, uint16: 2, float16: 2, complex64: 8 };

/** Facts about a model.json of TensorFlow.js; its weights as they are stored. */
export function inspectTfjs(path: string): FileFacts {
  const model = JSON.parse(readFileSync(path, "utf8")) as ModelJson;
  const { modelTopology: topology = {}, weightsManifest = [], generatedBy, convertedBy } = model;
  const root = topology.model_config ?? topology;
  const isGraph = topology.node !== undefined;
  const operators = new Map<string, number>();
  for (const { op } of topology.node ?? []) countOne(operators, op);
  if (!isGraph) for (const layer of jsonLayersOf(root)) countOne(operators, layer.class_name);
  const weights = new Map<string, WeightCount>();
  for (const { shape, dtype, quantization } of weightsManifest.flatMap((group) => group.weights)) {
    const stored = quantization?.dtype ?? dtype;
    const elements = shape.reduce((product, size) => product * size, 1);
    countWeight(weights, stored, { elements, bytes: elements * (BYTES[stored] ?? 4) });
  }
  const keras = topology.keras_version;
  const producer = [generatedBy ?? (keras === undefined ? undefined : `Keras ${keras}`), convertedBy];
  const known = producer
    .map((text) => (/^\d/.test(text ?? "") ? `TensorFlow ${text}` : text))
    .filter((text) => typeof text === "string" && text !== "");
  return {
    format: `TensorFlow.js ${isGraph ? "graph" : "layers"} model`,
    ...(known.length > 0 && { producer: known.join(", converted by ") }),
    operators,
    weights,
    metadata: {},
  };
}

function jsonLayersOf({ config }: Partial<LayerJson>): LayerJson[] {
  const layers = Array.isArray(config) ? config : ((config as { layers?: readonly LayerJson[] })?.layers ?? []);
  return layers.flatMap((layer: LayerJson) => [layer, ...jsonLayersOf(layer)]);
}
