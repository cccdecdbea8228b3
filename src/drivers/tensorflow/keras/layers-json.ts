import { io, type Tensor } from "@tensorflow/tfjs-core";
import { failedPrecondition } from "../../../errors.ts";
import type { H5File } from "./h5-file.ts";
import { isContainer, type LayerConfig, layersOf, nameOf } from "./keras-config.ts";
import { type KerasFile, majorOf } from "./keras-file.ts";

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
  { modelTopology, weightSpecs = [], weightData }: io.ModelArtifacts,
  read: (file: KerasFile) => Promise<T>,
): Promise<T> {
  const { keras_version, model_config: root } = modelTopology as Required<Topology>;
  const tensors = io.decodeWeights(weightData as ArrayBuffer, weightSpecs);
  try {
    const weights = toH5File(root, tensors);
    return await read({ config: { root, major: majorOf(keras_version) }, layout: "h5", weights });
  } finally {
    for (const tensor of Object.values(tensors)) tensor.dispose();
  }
}

function toH5File(root: LayerConfig, tensors: Readonly<Record<string, Tensor>>): H5File {
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
