import * as tf from "@tensorflow/tfjs-core";
import { initializers, type LayerVariable, layers } from "@tensorflow/tfjs-layers";

/** Sizes with the batch; null for an open one. */
export type OpenShape = readonly (number | null)[];

/** A layer's options as tfjs-layers reads them: names in camel case. */
export type Options = Readonly<Record<string, unknown>>;

/** One weight of a layer, in the order in which Keras keeps them. */
export interface OwnWeight {
  readonly name: string;
  readonly shape: readonly number[];
  /** Not learned. */
  readonly isFixed?: boolean;
  /** The layer within, if Keras keeps it in one. */
  readonly part?: Part;
}

/** A layer within a layer: its name, and the name of its group in the archive. */
interface Part {
  readonly name: string;
  readonly group: string;
}

/** A layer of Keras that tfjs-layers lacks, or has otherwise. */
export interface OwnLayer {
  readonly weights?: (options: Options, shapes: readonly OpenShape[]) => readonly OwnWeight[];
  /** Default: the first input's. */
  readonly outputShape?: (options: Options, shapes: readonly OpenShape[]) => OpenShape;
  call(inputs: readonly tf.Tensor[], options: Options, weights: Readonly<Record<string, tf.Tensor>>): tf.Tensor;
}

/** The weights of a layer within the layer, as the archive of Keras keeps them. */
export interface WeightPart extends Part {
  readonly variables: readonly LayerVariable[];
}

/** The name of a layer's class here. */
export function ownClassName(name: string): string {
  return `Keras${name}`;
}

/** Lets tfjs-layers make a layer by its {@link ownClassName}. Once is enough, more often does no harm. */
export function registerLayer(name: string, layer: OwnLayer): void {
  tf.serialization.registerClass(toClass(ownClassName(name), layer) as never);
}

function toClass(className: string, own: OwnLayer) {
  return class Own extends layers.Layer {
    static readonly className = className;
    readonly parts: WeightPart[] = [];
    readonly #options: Options;
    readonly #variables = new Map<string, LayerVariable>();

    constructor(options: Options) {
      super(options as never);
      this.#options = options;
    }

    override build(inputShape: unknown): void {
      for (const { name, shape, isFixed = false, part } of own.weights?.(this.#options, toShapes(inputShape)) ?? []) {
        const path = part === undefined ? name : `${part.name}/${name}`;
        const variable = this.addWeight(path, [...shape], "float32", initializers.zeros(), undefined, !isFixed);
        this.#variables.set(path, variable);
        if (part !== undefined) this.#addTo(part, variable);
      }
      super.build(inputShape as never);
    }

    override computeOutputShape(inputShape: unknown): (number | null)[] {
      const shapes = toShapes(inputShape);
      return [...(own.outputShape?.(this.#options, shapes) ?? shapes[0] ?? [])];
    }

    override call(inputs: tf.Tensor | tf.Tensor[]): tf.Tensor {
      const weights = [...this.#variables].map(([name, variable]) => [name, variable.read()] as const);
      return tf.tidy(() => own.call([inputs].flat(), this.#options, Object.fromEntries(weights)));
    }

    override getConfig(): tf.serialization.ConfigDict {
      return { ...super.getConfig(), ...(this.#options as tf.serialization.ConfigDict) };
    }

    #addTo(part: Part, variable: LayerVariable): void {
      const known = this.parts.find(({ name }) => name === part.name);
      if (known === undefined) this.parts.push({ ...part, variables: [variable] });
      else (known.variables as LayerVariable[]).push(variable);
    }
  };
}

/** One shape, or a list of them. */
function toShapes(inputShape: unknown): OpenShape[] {
  const shapes = inputShape as OpenShape | OpenShape[];
  return Array.isArray(shapes[0]) ? (shapes as OpenShape[]) : [shapes as OpenShape];
}

/** A function that tfjs-layers has by name, or that was registered. */
export function activate(x: tf.Tensor, activation: unknown): tf.Tensor {
  if (activation === undefined || activation === null || activation === "linear") return x;
  return layers.activation({ activation: activation as "relu" }).apply(x) as tf.Tensor;
}

/** A list of numbers; one number stands for as many of it. */
export function numbers(value: unknown, count: number): number[] {
  return Array.isArray(value) ? (value as number[]) : new Array<number>(count).fill(value as number);
}

/** An axis from the first; also of a list of one. */
export function axisOf(value: unknown, rank: number): number {
  const axis = Number(Array.isArray(value) ? value[0] : value);
  return axis < 0 ? axis + rank : axis;
}

/** A size that has to be known; throws an Error if it is open. */
export function known(size: number | null | undefined): number {
  if (typeof size === "number") return size;
  throw new Error("A size that weights depend on is open.");
}

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
