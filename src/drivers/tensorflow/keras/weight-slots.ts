import type { LayerVariable, layers } from "@tensorflow/tfjs-layers";
import { isContainer, type LayerConfig, layersOf, nameOf } from "./keras-config.ts";
import type { WeightPart } from "./own-layers/own-layer.ts";

/** The weights of one layer in the order in which Keras numbers them, and where its archive keeps them. */
export interface WeightSlots {
  /** The layer's name in Keras. */
  readonly layer: string;
  /** The name of the model's own layer that it is, or is within. */
  readonly top: string;
  /** The layer's group below the root of `model.weights.h5`. */
  readonly group: string;
  /** True where the layer and all models around it learn. */
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
export function findWeightSlots(model: LayerConfig, built: layers.Layer, place: Place = ROOT): WeightSlots[] {
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
