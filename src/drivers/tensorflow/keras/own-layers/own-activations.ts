import * as tf from "@tensorflow/tfjs-core";

/** Functions of Keras 3 that tfjs-layers lacks, or has otherwise, by their names in Keras. */
const OWN_ACTIVATIONS: Readonly<Record<string, (x: tf.Tensor) => tf.Tensor>> = {
  hard_sigmoid: (x) => tf.div(within(tf.add(x, 3), 0, 6), 6),
  hard_silu: (x) => tf.mul(x, tf.div(within(tf.add(x, 3), 0, 6), 6)),
  hard_tanh: (x) => within(x, -1, 1),
  leaky_relu: (x) => tf.leakyRelu(x, 0.2),
  exponential: tf.exp,
  celu: (x) => tf.add(tf.relu(x), tf.elu(tf.minimum(x, 0))),
  log_sigmoid: tf.logSigmoid,
  tanh_shrink: (x) => tf.sub(x, tf.tanh(x)),
  squareplus: (x) => tf.div(tf.add(x, tf.sqrt(tf.add(tf.square(x), 4))), 2),
};

/** The name under which tfjs-layers finds such a function; undefined for any other. */
export function ownActivation(name: string): string | undefined {
  const plain = name === "hard_swish" ? "hard_silu" : name;
  return Object.hasOwn(OWN_ACTIVATIONS, plain) ? classNameOf(plain) : undefined;
}

/** Without underscores: tfjs-layers changes names that have them. */
function classNameOf(name: string): string {
  return `keras${name.replaceAll("_", "")}`;
}

/** Lets tfjs-layers find them. Once is enough, more often does no harm. */
export function registerActivations(): void {
  for (const [name, compute] of Object.entries(OWN_ACTIVATIONS)) {
    class Activation extends tf.serialization.Serializable {
      static readonly className = classNameOf(name);
      apply(x: tf.Tensor): tf.Tensor {
        return tf.tidy(() => compute(x));
      }
      getConfig(): tf.serialization.ConfigDict {
        return {};
      }
    }
    tf.serialization.registerClass(Activation);
  }
}

/** Not by WebAssembly's clip, which takes NaN for one of its bounds. */
function within(x: tf.Tensor, low: number, high: number): tf.Tensor {
  return tf.minimum(tf.maximum(x, low), high);
}
