import type { LayersModel, LayerVariable, layers } from "@tensorflow/tfjs-layers";
import { failedPrecondition } from "../../../errors.ts";
import type { H5File, StoredArray } from "./h5-file.ts";
import type { KerasFile } from "./keras-file.ts";
import { isContainer, type LayerConfig, layersOf, nameOf } from "./keras-file.ts";
import type { WeightPart } from "./own-layers/own-layer.ts";

/** One weight of the model, and what the file has for it. */
export interface FoundWeight {
  /** The layer that it belongs to; for messages. */
  readonly layer: string;
  readonly variable: LayerVariable;
  readonly stored: StoredArray;
}

/**
 * Finds a model's weights in its file; throws `failed_precondition` naming a weight that the file lacks, and a layer
 * that it has no weights or other weights for.
 */
export async function findWeights(
  model: LayersModel,
  { config: { root }, layout, weights }: KerasFile,
): Promise<FoundWeight[]> {
  const slots = findWeightSlots(root, model);
  const found = await (layout === "archive" ? findInArchive(weights, slots) : findInH5(weights, root, slots));
  const known = new Set(found.map(({ variable }) => variable));
  const missing = model.weights.find((variable) => !known.has(variable));
  if (missing !== undefined)
    throw failedPrecondition(`The file has nothing for the weight "${missing.originalName}" of the model.`);
  return found;
}

/**
 * Finds every weight in the `model.weights.h5` of a .keras file, which has layers by class and number.
 */
async function findInArchive(file: H5File, slots: readonly WeightSlots[]): Promise<FoundWeight[]> {
  const weights: FoundWeight[] = [];
  for (const { layer, group, learned, fixed } of slots) {
    const variables = [...learned, ...fixed];
    const names = numbered(await file.names(`${group}vars`));
    checkCount(layer, variables.length, names.length);
    const written = await file.attribute(`${group.replace(/cell\/$/, "")}vars`, "name");
    if (typeof written === "string" && written !== layer) {
      throw failedPrecondition(`The file has weights of layer "${written}" where those of "${layer}" are expected.`);
    }
    for (const [index, variable] of variables.entries())
      weights.push(found(layer, variable, await file.array(`${group}vars/${names[index]}`)));
  }
  return weights;
}

/**
 * Finds every weight in an .h5 file, which lists those of each of the model's layers
 * by name: first the ones that learn, then the others.
 */
async function findInH5(file: H5File, model: LayerConfig, slots: readonly WeightSlots[]): Promise<FoundWeight[]> {
  const weights: FoundWeight[] = [];
  for (const name of layersOf(model).map(nameOf)) {
    const group = `model_weights/${name}`;
    const names = await namesIn(file, group);
    const wanted = inH5Order(slots.filter(({ top }) => top === name));
    checkCount(name, wanted.length, names.length);
    for (const [index, { variable, owner }] of wanted.entries()) {
      const path = names[index]!;
      checkName(owner, variable, path);
      weights.push(found(owner, variable, await file.array(`${group}/${path}`)));
    }
  }
  return weights;
}

/** Names in an attribute, which is in parts if the list is longer than an attribute may be. */
async function namesIn(file: H5File, group: string): Promise<string[]> {
  const whole = await file.attribute(group, "weight_names");
  if (Array.isArray(whole)) return whole as string[];
  const names: string[] = [];
  for (let part = 0; ; part++) {
    const listed = await file.attribute(group, `weight_names${part}`);
    if (!Array.isArray(listed)) return names;
    names.push(...(listed as string[]));
  }
}

function inH5Order(slots: readonly WeightSlots[]): { owner: string; variable: LayerVariable }[] {
  const owned = (pick: (one: WeightSlots) => readonly LayerVariable[]) =>
    slots.flatMap((one) => pick(one).map((variable) => ({ owner: one.layer, variable })));
  return [
    ...owned(({ trainable, learned }) => (trainable ? learned : [])),
    ...owned(({ trainable, learned, fixed }) => (trainable ? fixed : [...learned, ...fixed])),
  ];
}

/** Names that Keras 3 changed. */
const RENAMED: Readonly<Record<string, string>> = { depthwise_kernel: "kernel" };

function checkName(layer: string, { originalName }: LayerVariable, path: string): void {
  const [expected, written] = [originalName, path].map((name) => name.split("/").at(-1)!.replace(/:0$/, ""));
  if (written === expected || written === RENAMED[expected as string]) return;
  throw failedPrecondition(`The file has the weight "${path}" where "${expected}" of layer "${layer}" is expected.`);
}

function found(layer: string, variable: LayerVariable, stored: StoredArray): FoundWeight {
  const { shape } = variable;
  if (shape.length !== stored.shape.length || shape.some((size, axis) => size !== stored.shape[axis])) {
    throw failedPrecondition(
      `The weight "${stored.name}" has shape [${stored.shape}]; layer "${layer}" takes [${shape}].`,
    );
  }
  return { layer, variable, stored };
}

function checkCount(layer: string, expected: number, written: number): void {
  if (expected === written) return;
  throw failedPrecondition(`The file has ${written} weights for layer "${layer}", which takes ${expected}.`);
}

/** `10` comes after `9`. */
function numbered(names: readonly string[]): string[] {
  return [...names].sort((a, b) => Number(a) - Number(b));
}

/** The weights of one layer in the order in which Keras numbers them, and their place in its archive. */
interface WeightSlots {
  /** The layer's name in Keras. */
  readonly layer: string;
  /** The name of the model's own layer that it is, or is within. */
  readonly top: string;
  /** The layer's group below the root of `model.weights.h5`. */
  readonly group: string;
  /** True if the layer and all models around it learn. */
  readonly trainable: boolean;
  readonly learned: readonly LayerVariable[];
  readonly fixed: readonly LayerVariable[];
}

/** Members that tfjs-layers does not declare, or not for everyone. */
interface LayerParts {
  readonly layers?: readonly layers.Layer[];
  readonly layer?: layers.Layer;
  readonly forwardLayer?: layers.Layer;
  readonly backwardLayer?: layers.Layer;
  readonly cell?: layers.Layer;
  /** Of our own layers: weights that Keras keeps in layers within. */
  readonly parts?: readonly WeightPart[];
  readonly _trainableWeights?: readonly LayerVariable[];
  readonly _nonTrainableWeights?: readonly LayerVariable[];
}

/** Place of a layer. */
interface Place {
  /** Unknown above the first layer. */
  readonly top?: string;
  readonly group: string;
  readonly trainable: boolean;
}

/** The layers of a model that hold weights, in the model's order, models within it unfolded. */
function findWeightSlots(model: LayerConfig, built: layers.Layer, place: Place = ROOT): WeightSlots[] {
  const { layers: children = [] } = built as unknown as LayerParts;
  const count = new Map<string, number>();
  return layersOf(model).flatMap((layer) => {
    const kind = toSnakeCase(layer.class_name);
    const same = count.get(kind) ?? 0;
    count.set(kind, same + 1);
    const child = children.find(({ name }) => name === nameOf(layer));
    const group = `${place.group}layers/${same === 0 ? kind : `${kind}_${same}`}/`;
    const trainable = place.trainable && layer.config.trainable !== false;
    return child === undefined ? [] : slotsOf(layer, child, { top: place.top ?? nameOf(layer), group, trainable });
  });
}

const ROOT: Place = { group: "", trainable: true };

function slotsOf(layer: LayerConfig, built: layers.Layer, place: Place): WeightSlots[] {
  if (isContainer(layer)) return findWeightSlots(layer, built, place);
  const { group } = place;
  const parts = built as unknown as LayerParts;
  const { layer: wrapped, backward_layer: backward } = layer.config as Record<string, LayerConfig | undefined>;
  const inner = (config: LayerConfig | undefined, name: string, part: layers.Layer | undefined): WeightSlots[] =>
    part === undefined ? [] : slotsOf(config ?? layer, part, { ...place, group: `${group}${name}/` });
  if (parts.forwardLayer !== undefined) {
    const second = inner(backward ?? wrapped, "backward_layer", parts.backwardLayer);
    return [...inner(wrapped, "forward_layer", parts.forwardLayer), ...second];
  }
  if (wrapped !== undefined) return inner(wrapped, "layer", parts.layer);
  const slot = { top: "", ...place, layer: nameOf(layer) };
  if (parts.parts !== undefined && parts.parts.length > 0) {
    return parts.parts.map(({ name, group: part, variables }) => ({
      ...slot,
      layer: name,
      group: `${group}${part}/`,
      learned: variables,
      fixed: [],
    }));
  }
  if (parts.cell === undefined) return [{ ...slot, ...ownWeights(built) }];
  return [{ ...slot, ...ownWeights(parts.cell), group: `${group}cell/` }];
}

function ownWeights(layer: layers.Layer): Pick<WeightSlots, "learned" | "fixed"> {
  const { _trainableWeights: learned = [], _nonTrainableWeights: fixed = [] } = layer as unknown as LayerParts;
  return { learned, fixed };
}

/** As `keras.src.utils.naming.to_snake_case` writes it: Conv2DTranspose is conv2d_transpose. */
function toSnakeCase(name: string): string {
  return name
    .replace(/\W+/g, "")
    .replace(/(.)([A-Z][a-z]+)/g, "$1_$2")
    .replace(/([a-z])([A-Z])/g, "$1_$2")
    .toLowerCase();
}
