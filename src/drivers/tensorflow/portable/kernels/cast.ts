import * as tf from "@tensorflow/tfjs-core";
import { ServingError } from "../../../../errors.ts";
import { dataTypeName, dataTypeNumber } from "../../saved-model/data-type.ts";
import {
  carrierOfType,
  FLOATS,
  highestOf,
  INTEGERS,
  integerOf,
  lowestOf,
  roundingOf,
  SHORT_FLOATS,
  TYPE,
} from "../element-types.ts";
import { mapNumbers } from "../host-math.ts";
import type { Kernel, KernelTable, OpNode } from "../op-node.ts";
import { asTensor } from "../values.ts";

const CASTABLE: ReadonlySet<number> = new Set([...FLOATS, ...SHORT_FLOATS, ...INTEGERS, TYPE.bool]);
const UNSIGNED: ReadonlySet<number> = new Set([dataTypeNumber("UINT32"), dataTypeNumber("UINT64")]);

function cast(node: OpNode): Kernel {
  const from = node.typeOf("SrcT", CASTABLE);
  const to = node.typeOf("DstT", CASTABLE);
  if (node.flag("Truncate", false)) return node.refuse("with Truncate");
  const carrier = carrierOfType(to) as "float32" | "int32" | "bool";
  if (carrier === "float32") return floatCast(to);
  if (carrier === "bool") return (x) => mapNumbers(asTensor(x), "bool", (value) => Number(value !== 0));
  if (carrierOfType(from) === "float32") return (x) => mapNumbers(asTensor(x), "int32", truncatedTo(to));
  if (from === TYPE.bool || from === to) return (x) => tf.cast(asTensor(x), "int32");
  const wrap = integerOf(to);
  return (x) => mapNumbers(asTensor(x), "int32", wrap);
}

function floatCast(to: number): Kernel {
  const round = roundingOf(to);
  return (x) => (round === undefined ? tf.cast(asTensor(x), "float32") : mapNumbers(asTensor(x), "float32", round));
}

/**
 * Towards zero. What int32 does not hold, NaN among it, becomes the lowest number, as x86 has it; for other types
 * TensorFlow's own answers vary with the tensor's size, so that is refused.
 */
function truncatedTo(type: number): (value: number) => number {
  const [lowest, highest] = rangeOf(type);
  return (value) => {
    const whole = Math.trunc(value);
    if (whole >= lowest && whole <= highest) return whole;
    if (type === TYPE.int32) return lowest;
    throw new ServingError(
      "out_of_range",
      `The model casts ${value} to ${dataTypeName(type)}, beyond what is cast alike everywhere (${lowest} to ${highest}).`,
    );
  };
}

/** The range that a type and 32 bits with sign have in common. */
function rangeOf(type: number): [lowest: number, highest: number] {
  const lowest = UNSIGNED.has(type) ? 0 : Math.max(lowestOf(type), lowestOf(TYPE.int32));
  return [lowest, Math.min(highestOf(type), highestOf(TYPE.int32))];
}

/** Conversion between types. */
export const CAST_KERNELS: KernelTable = { Cast: cast };
