/** A layer as Keras writes it, whatever its version. */
export interface LayerConfig {
  readonly class_name: string;
  /** Keras 3 says where the class comes from; Keras 2 does not. */
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
