import { DATA_TYPES } from "../../tensor/data-types.ts";
import { DTYPES, type DType, isDType } from "../../tensor/dtype.ts";

/** Numbers of tensorflow.DataType. Complex numbers have no form in JSON. */
const BY_NUMBER: ReadonlyMap<number, DType> = new Map(
  DATA_TYPES.flatMap(([, number, dtype]) =>
    dtype === undefined || dtype.startsWith("complex") ? [] : [[number, dtype]],
  ),
);

/** Names that are not ours: TensorFlow's and the original tool's. `int` has 64 bits there. */
const ALIASES: ReadonlyMap<string, DType> = new Map<string, DType>([
  ["float", "float32"],
  ["double", "float64"],
  ["half", "float16"],
  ["int", "int64"],
  ["string", "bytes"],
  ["byte", "bytes"],
  ["strings", "bytes"],
]);

/** All names of {@link dtypeOfName} but those of TensorFlow's types. */
export const DTYPE_NAMES: readonly string[] = [...DTYPES, ...ALIASES.keys()];

/** The dtype with a number of tensorflow.DataType. */
export function dtypeOfNumber(number: number): DType | undefined {
  return BY_NUMBER.get(number);
}

/** The dtype with a name of any case: `float32`, `float`, `DT_FLOAT`, `int` (64 bits), `string` … */
export function dtypeOfName(name: string): DType | undefined {
  const plain = name.toLowerCase().replace(/^dt_/, "");
  const dtype = ALIASES.get(plain) ?? (isDType(plain) ? plain : undefined);
  return dtype?.startsWith("complex") ? undefined : dtype;
}
