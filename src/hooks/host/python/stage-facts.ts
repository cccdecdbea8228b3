import { type TensorSpec, toSize } from "../../../tensor/signature/signature.ts";
import type { StageHandle } from "../../hooks.ts";
import { packJson } from "./hook-values.ts";

/** Facts about a model for Python hooks: plain data. */
export interface StageFacts {
  readonly name: string;
  readonly inputs: readonly NamedShape[];
  readonly outputs: readonly NamedShape[];
  /** By input, if it is known. */
  readonly dtypes: Readonly<Record<string, string>>;
  /** Values that the driver gives to hooks; functions are `{ $method: true }`. */
  readonly args: unknown;
}

interface NamedShape {
  readonly name: string;
  /** -1 = any size; null = any rank. */
  readonly shape: readonly number[] | null;
}

/** Facts about a model, for a Python process before its first request. */
export function driverFacts({ name, inputs = [], outputs = [], args }: StageHandle): StageFacts {
  const { driver: _, ...own } = args;
  const { model_inputs: shapes = {} } = own;
  return {
    name,
    inputs: inputs.length > 0 ? inputs.map(toNamedShape) : namesOf(shapes),
    outputs: outputs.map(toNamedShape),
    dtypes: Object.fromEntries(inputs.map(({ name: input, dtype }) => [input, dtype])),
    args: packJson(own).values,
  };
}

function toNamedShape({ name, shape }: TensorSpec): NamedShape {
  return { name, shape: shape?.map(toSize) ?? null };
}

/** A model whose inputs have names alone. */
function namesOf(shapes: Readonly<Record<string, readonly number[] | null>>): NamedShape[] {
  return Object.entries(shapes).map(([name, shape]) => ({ name, shape }));
}
