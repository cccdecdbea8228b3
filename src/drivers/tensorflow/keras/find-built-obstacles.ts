import type { LayersModel, SymbolicTensor } from "@tensorflow/tfjs-layers";
import type { Obstacles } from "./to-layers-config.ts";

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
