import { type LayerConfig, nameOf } from "./keras-file.ts";
import { ACTIVATIONS, IDLE_OPTIONS, type LayerRule, REFUSED_OPTIONS } from "./layer-rules.ts";
import { ownActivation } from "./own-layers/own-layer.ts";

/** Collects the obstacles to serving a model. */
export type Complain = (obstacle: string) => void;

/** Version of the options' writer, and the receiver of complaints. */
export interface OptionContext {
  /** The version of Keras. */
  readonly major: number;
  readonly complain: Complain;
}

/** Every weight is set from the file, so that no time is spent on what a layer would begin to learn with. */
const NOTHING_YET = { class_name: "Zeros", config: {} };

/**
 * Dtypes of inputs that become float32 within the model. The layers of Keras compute in float32 whatever they are
 * given; tfjs-layers would keep integers in some, and take those for the dtype of all tensors that are joined.
 */
const INPUT_DTYPES = ["float32", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16"];

/** Those of layers: mixed ones have weights of float32, and compute here in float32 too, which is more exact. */
const COMPUTED = ["float32", "mixed_float16", "mixed_bfloat16"];

/** The options of one layer for tfjs-layers; those that it would interpret differently become obstacles. */
export function toLayerOptions(layer: LayerConfig, rule: LayerRule, context: OptionContext): Record<string, unknown> {
  const options: Record<string, unknown> = { name: nameOf(layer) };
  const complain = (what: string) => context.complain(`layer "${nameOf(layer)}" (${layer.class_name}) ${what}`);
  for (const [key, value] of Object.entries(layer.config)) {
    const name = rule.renames?.[key] ?? (key === "batch_shape" ? "batch_input_shape" : key);
    const isTaken = rule.takes.includes(name) || rule.wraps?.includes(name) || name === "batch_input_shape";
    if (!isHarmless(key, value, rule, isTaken)) complain(`has ${key}=${JSON.stringify(value)}`);
    if (isTaken) options[name] = toValue(name, value, { ...context, complain });
    else if (/_initializer$/.test(key)) options[name] = NOTHING_YET;
  }
  checkDType(layer, complain);
  return options;
}

/** Checks that an option means the same in tfjs-layers, or nothing to a model that predicts. */
function isHarmless(key: string, value: unknown, { as, only = {} }: LayerRule, isTaken: boolean | undefined): boolean {
  if (Object.hasOwn(only, key)) return only[key]?.some((one) => JSON.stringify(one) === JSON.stringify(value)) ?? false;
  if (REFUSED_OPTIONS.includes(key)) return value === null || value === false;
  return isTaken || as !== undefined || IDLE_OPTIONS.test(key);
}

function toValue(key: string, value: unknown, { major, complain }: OptionContext): unknown {
  if (/activation$/.test(key)) return toActivation(value, major, complain);
  // Keras 2 writes the axis of a batch normalization as a list of one.
  if (key === "axis" && Array.isArray(value) && value.length === 1) return value[0];
  return value;
}

/** Keras 3 has another hard sigmoid than Keras 2 and tfjs-layers. */
function toActivation(value: unknown, major: number, complain: Complain): unknown {
  if (value === "hard_sigmoid" && major < 3) return "hardSigmoid";
  const own = typeof value === "string" ? ownActivation(value) : undefined;
  if (own !== undefined) return own;
  const known = typeof value === "string" && Object.hasOwn(ACTIVATIONS, value);
  if (!known) complain(`has the activation ${typeof value === "string" ? value : JSON.stringify(value)}`);
  return known ? ACTIVATIONS[value] : value;
}

function checkDType({ class_name, config }: LayerConfig, complain: Complain): void {
  const { dtype = "float32" } = config as { dtype?: string | { config?: { name?: string } } | null };
  const name = typeof dtype === "object" ? dtype?.config?.name : dtype;
  const isInput = class_name === "InputLayer";
  if (isInput && !INPUT_DTYPES.includes(name ?? "")) complain(`takes ${name}`);
  if (!isInput && name !== undefined && !COMPUTED.includes(name)) complain(`computes in ${name}`);
}
