import * as tf from "@tensorflow/tfjs-core";
import { type LayersModel, models, type SymbolicTensor } from "@tensorflow/tfjs-layers";
import { failedPrecondition, publicText } from "../../../errors.ts";
import { type DType, isDType } from "../../../tensor/dtype.ts";
import type { TensorflowEngine } from "../engine.ts";
import { reportFallbacks } from "../tfjs/fallback-kernels.ts";
import { createLayersModel } from "../tfjs/layers-model.ts";
import { startTfjs } from "../tfjs/tfjs-backend.ts";
import type { H5File } from "./h5-file.ts";
import {
  isContainer,
  type KerasFile,
  type LayerConfig,
  layersOf,
  majorOf,
  nameOf,
  withKerasFile,
} from "./keras-file.ts";
import { registerOwnLayers } from "./own-layers/register-own-layers.ts";
import { type FoundWeight, findWeights } from "./stored-weights.ts";
import { type Obstacles, toLayersConfig } from "./to-layers-config.ts";

/** Serves .h5 and .keras files whose layers are computed here as Keras does; refuses every other, saying why. */
const engine: TensorflowEngine = {
  name: "keras",
  load: async (source, _, { log }) => {
    await startTfjs();
    const { model, inputDTypes } = await withKerasFile(source, (file) => loadKerasModel(file, source.path));
    return reportFallbacks(createLayersModel(model, inputDTypes), log);
  },
};

export default engine;

/** A model of tfjs-layers, which {@link loadKerasModel} made. */
interface KerasModel {
  readonly model: LayersModel;
  readonly inputDTypes: ReadonlyMap<string, DType>;
}

/**
 * Makes a model of a Keras file, and sets its weights; throws `failed_precondition` with the layers that compute in
 * another way here, and the weights that the file lacks.
 */
export async function loadKerasModel(file: KerasFile, path: string): Promise<KerasModel> {
  registerOwnLayers();
  const { config, obstacles } = toLayersConfig(file.config);
  refuse(path, obstacles);
  const model = await build(config, path);
  try {
    refuse(path, findBuiltObstacles(model));
    for (const weight of await findWeights(model, file)) await setWeight(weight);
    return { model, inputDTypes: readInputDTypes(file.config.root) };
  } catch (reason) {
    model.dispose();
    throw reason;
  }
}

const EXPORT = 'Export it in Python with model.export("DIR") and serve that folder, which holds the graph itself.';
/** Maximum number of reasons in a message. */
const MAX_REASONS = 8;

function refuse(path: string, obstacles: Obstacles): void {
  if (obstacles.length === 0) return;
  const more = obstacles.length > MAX_REASONS ? `; and ${obstacles.length - MAX_REASONS} more` : "";
  const reasons = `${obstacles.slice(0, MAX_REASONS).join("; ")}${more}`;
  throw failedPrecondition(`The model "${path}" cannot be served from this file: ${reasons}. ${EXPORT}`);
}

/** tfjs-layers has its own reasons to refuse a model. */
async function build(config: LayerConfig, path: string): Promise<LayersModel> {
  try {
    return await models.modelFromJSON(config as unknown as tf.io.ModelJSON);
  } catch (cause) {
    throw failedPrecondition(
      `The model "${path}" cannot be served from this file: ${publicText(cause)} ${EXPORT}`,
      cause,
    );
  }
}

async function setWeight({ variable, stored }: FoundWeight): Promise<void> {
  const value = tf.tensor(await stored.read(), [...stored.shape]);
  variable.write(value);
  value.dispose();
}

/** The architecture of a layers model as its model.json has it. */
interface Topology {
  readonly keras_version?: string;
  readonly model_config?: LayerConfig;
}

/** Checks that a model.json has the form of Keras 3, which tfjs-layers does not read. */
export function isKeras3(topology: unknown): topology is Topology {
  const { keras_version, model_config } = (topology ?? {}) as Topology;
  return model_config !== undefined && majorOf(keras_version) >= 3;
}

/**
 * A layers model of Keras 3 as the .h5 file that it was converted from, while `read` runs: its weights have the names
 * and the order that they had there.
 */
export async function withLayersJson<T>(
  { modelTopology, weightSpecs = [], weightData }: tf.io.ModelArtifacts,
  read: (file: KerasFile) => Promise<T>,
): Promise<T> {
  const { keras_version, model_config: root } = modelTopology as Required<Topology>;
  const tensors = tf.io.decodeWeights(weightData as ArrayBuffer, weightSpecs);
  try {
    const weights = toH5File(root, tensors);
    return await read({ config: { root, major: majorOf(keras_version) }, layout: "h5", weights });
  } finally {
    for (const tensor of Object.values(tensors)) tensor.dispose();
  }
}

function toH5File(root: LayerConfig, tensors: Readonly<Record<string, tf.Tensor>>): H5File {
  const owners = ownersIn(root);
  const namesOf = new Map<string, string[]>();
  for (const name of Object.keys(tensors)) {
    const [first = "", second = ""] = name.split("/");
    // A Sequential's own name stands before those of its layers.
    const layer = owners.get(first) ?? owners.get(second) ?? "";
    namesOf.set(layer, [...(namesOf.get(layer) ?? []), name]);
  }
  const layerOf = (group: string) => group.replace(/^model_weights\//, "");
  return {
    attribute: async (group, name) => (name === "weight_names" ? (namesOf.get(layerOf(group)) ?? []) : undefined),
    names: async () => [],
    array: async (path) => {
      const [, , ...name] = path.split("/");
      const tensor = tensors[name.join("/")];
      if (tensor === undefined) throw failedPrecondition(`The model.json has no weight "${name.join("/")}".`);
      return { name: name.join("/"), shape: tensor.shape, read: async () => Float32Array.from(tensor.dataSync()) };
    },
  };
}

/** For each layer's name, also of those in models within the model, the name of the model's own layer that it is in. */
function ownersIn(root: LayerConfig): ReadonlyMap<string, string> {
  const owners = new Map<string, string>();
  const add = (layer: LayerConfig, owner: string) => {
    if (!owners.has(nameOf(layer))) owners.set(nameOf(layer), owner);
    if (isContainer(layer)) for (const inner of layersOf(layer)) add(inner, owner);
  };
  for (const layer of layersOf(root)) owners.set(nameOf(layer), nameOf(layer));
  for (const layer of layersOf(root)) add(layer, nameOf(layer));
  return owners;
}

/** The dtype of each of a model's inputs, by name, as the file has it; TensorFlow.js has fewer. */
function readInputDTypes(model: LayerConfig): ReadonlyMap<string, DType> {
  const inputs = layersOf(model).filter(({ class_name }) => class_name === "InputLayer");
  return new Map(inputs.map((layer) => [nameOf(layer), toDType(layer.config.dtype)]));
}

function toDType(dtype: unknown): DType {
  return typeof dtype === "string" && isDType(dtype) ? dtype : "float32";
}

/** The parts of a layer of tfjs-layers that are used; many of them are not declared. */
interface BuiltLayer {
  readonly name: string;
  readonly inboundNodes: readonly { readonly inputTensors: readonly SymbolicTensor[] }[];
  readonly axis?: number;
  readonly maskZero?: boolean;
  readonly returnSequences?: boolean;
  /** Of a model within the model. */
  readonly outputs?: readonly SymbolicTensor[];
  getClassName(): string;
}

/** Checks of the layers after one that takes a mask and returns what Keras returns. */
const BEHIND: Readonly<Record<string, (layer: BuiltLayer) => boolean>> = {
  ...always(true, "Activation", "Dense", "ReLU", "LeakyReLU", "ELU", "Masking", "LayerNormalization"),
  ...always(true, "BatchNormalization", "TimeDistributed"),
  ...always(false, "Flatten", "Reshape", "Permute", "Conv1D", "MaxPooling1D", "GlobalMaxPooling1D", "Bidirectional"),
  ...Object.fromEntries(
    ["SimpleRNN", "LSTM", "GRU", "ResetAfterGRU"].map((kind) => [kind, (layer: BuiltLayer) => isSequence(layer)]),
  ),
};

/** Largest rank for which batch normalization has a kernel. */
const MAX_RANK = 4;

/** Differences between tfjs-layers and Keras that only the finished model shows: masks, and axes by rank. */
export function findBuiltObstacles(model: LayersModel): Obstacles {
  const walk = new Walk();
  for (const output of model.outputs) walk.isMasked(output);
  return [...walk.obstacles];
}

/** Follows the graph from its outputs; says of each tensor whether it comes with a mask. */
class Walk {
  readonly obstacles = new Set<string>();
  readonly #known = new Map<SymbolicTensor, boolean>();

  isMasked(tensor: SymbolicTensor): boolean {
    const known = this.#known.get(tensor);
    if (known !== undefined) return known;
    const masked = this.#find(tensor);
    this.#known.set(tensor, masked);
    return masked;
  }

  #find(tensor: SymbolicTensor): boolean {
    const layer = tensor.sourceLayer as unknown as BuiltLayer;
    const inputs = layer.inboundNodes[tensor.nodeIndex]?.inputTensors ?? [];
    if (layer.getClassName() === "BatchNormalization") this.#checkAxis(layer, inputs);
    const masks = inputs.filter((input) => input !== tensor && this.isMasked(input));
    const within = layer.outputs?.[tensor.outputTensorIndex ?? 0];
    if (within !== undefined) return this.#behindModel(layer, within, masks.length > 0);
    if (masks.length === 0) return layer.maskZero === true || layer.getClassName() === "Masking";
    return this.#behind(layer, inputs.length);
  }

  #behind(layer: BuiltLayer, inputs: number): boolean {
    const kind = layer.getClassName();
    const rule = BEHIND[kind];
    if (rule === undefined || inputs > 1 || (kind === "Bidirectional" && isSequence(layer))) {
      this.obstacles.add(`layer "${layer.name}" (${kind}) gets a mask`);
    }
    return rule?.(layer) ?? false;
  }

  #behindModel({ name }: BuiltLayer, output: SymbolicTensor, masked: boolean): boolean {
    if (masked) this.obstacles.add(`model "${name}" within the model gets a mask`);
    if (this.isMasked(output)) this.obstacles.add(`model "${name}" within the model gives a mask`);
    return false;
  }

  #checkAxis({ name, axis = -1 }: BuiltLayer, [input]: readonly SymbolicTensor[]): void {
    const rank = input?.shape.length ?? 0;
    const isLast = axis === -1 || axis === rank - 1;
    if (!isLast) this.obstacles.add(`layer "${name}" (BatchNormalization) has axis=${axis} of ${rank} dimensions`);
    if (rank > MAX_RANK) this.obstacles.add(`layer "${name}" (BatchNormalization) takes ${rank} dimensions`);
  }
}

function isSequence({ returnSequences }: BuiltLayer): boolean {
  return returnSequences === true;
}

function always(masked: boolean, ...kinds: readonly string[]): Record<string, () => boolean> {
  return Object.fromEntries(kinds.map((kind) => [kind, () => masked]));
}
