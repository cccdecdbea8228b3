import * as tf from "@tensorflow/tfjs-core";
import { initializers, type LayerVariable, layers, type RNNLayerArgs } from "@tensorflow/tfjs-layers";
import { ATTENTION_AND_NORMALIZATION } from "./attention-and-normalization.ts";
import { CONVOLUTION_AND_SHAPING } from "./convolution-and-shaping.ts";
import { type OwnLayer, registerActivations, registerLayer } from "./own-layer.ts";

const OWN_LAYERS: Readonly<Record<string, OwnLayer>> = {
  ...CONVOLUTION_AND_SHAPING,
  ...ATTENTION_AND_NORMALIZATION,
};

/** Lets tfjs-layers make the layers and functions of Keras that it lacks. Once is enough, more often does no harm. */
export function registerOwnLayers(): void {
  for (const [name, layer] of Object.entries(OWN_LAYERS)) registerLayer(name, layer);
  tf.serialization.registerClass(ResetAfterGRU);
  registerActivations();
}

/** The parts of a GRU's options that are used. */
interface GRUConfig extends RNNLayerArgs {
  readonly units: number;
  readonly activation: "tanh";
  readonly recurrentActivation: "sigmoid";
  readonly useBias: boolean;
}

/**
 * The step of a GRU as Keras has it by default (`reset_after`): the reset gate is
 * applied after the product with the recurrent kernel, which has its own bias.
 * tfjs-layers has only the other form. Gates lie in the order update, reset, candidate.
 */
class ResetAfterGRUCell extends layers.RNNCell {
  static readonly className = "ResetAfterGRUCell";
  readonly stateSize: number;
  readonly #config: GRUConfig;
  readonly #activation: layers.Layer;
  readonly #recurrentActivation: layers.Layer;
  #kernel!: LayerVariable;
  #recurrentKernel!: LayerVariable;
  #bias: LayerVariable | undefined;

  constructor(config: GRUConfig) {
    super({});
    this.stateSize = config.units;
    this.#config = config;
    this.#activation = layers.activation({ activation: config.activation });
    this.#recurrentActivation = layers.activation({ activation: config.recurrentActivation });
  }

  override build(inputShape: number[]): void {
    const { units, useBias } = this.#config;
    const zeros = initializers.zeros();
    this.#kernel = this.addWeight("kernel", [inputShape.at(-1) ?? 0, 3 * units], "float32", zeros);
    this.#recurrentKernel = this.addWeight("recurrent_kernel", [units, 3 * units], "float32", zeros);
    if (useBias) this.#bias = this.addWeight("bias", [2, 3 * units], "float32", zeros);
    this.built = true;
  }

  override call([x, state]: tf.Tensor[]): tf.Tensor[] {
    return tf.tidy(() => {
      const [inputBias, recurrentBias] = this.#bias === undefined ? [] : tf.unstack(this.#bias.read());
      const before = state as tf.Tensor2D;
      const [xUpdate, xReset, xCandidate] = this.#gates(x as tf.Tensor2D, this.#kernel, inputBias);
      const [update, reset, candidate] = this.#gates(before, this.#recurrentKernel, recurrentBias);
      const z = this.#recurrentActivation.apply(tf.add(xUpdate, update)) as tf.Tensor;
      const r = this.#recurrentActivation.apply(tf.add(xReset, reset)) as tf.Tensor;
      const fresh = this.#activation.apply(tf.add(xCandidate, tf.mul(r, candidate))) as tf.Tensor;
      const after = tf.add(tf.mul(z, before), tf.mul(tf.sub(1, z), fresh));
      return [after, after];
    });
  }

  override getConfig(): tf.serialization.ConfigDict {
    const { units, activation, recurrentActivation, useBias } = this.#config;
    return { ...super.getConfig(), units, activation, recurrentActivation, useBias };
  }

  #gates(x: tf.Tensor2D, kernel: LayerVariable, bias: tf.Tensor | undefined): [tf.Tensor, tf.Tensor, tf.Tensor] {
    const product = tf.matMul(x, kernel.read() as tf.Tensor2D);
    return tf.split(bias === undefined ? product : tf.add(product, bias), 3, 1) as [tf.Tensor, tf.Tensor, tf.Tensor];
  }
}

/** A GRU with `reset_after`. */
class ResetAfterGRU extends layers.RNN {
  static override readonly className = "ResetAfterGRU";

  constructor(config: GRUConfig) {
    super({ ...config, cell: new ResetAfterGRUCell(config) });
  }

  static override fromConfig<T extends tf.serialization.Serializable>(
    Layer: tf.serialization.SerializableConstructor<T>,
    config: tf.serialization.ConfigDict,
  ): T {
    return new Layer(config);
  }
}
