import type { ConfigNode } from "../../codecs/config/config-node.ts";
import type { OptionTable, RawOptions } from "../../drivers/option-table.ts";

/** One key of a configuration file: the form of its value, and its meaning. */
export type FieldSpec = FieldKind & {
  readonly help?: string;
  /** Its default, in words. */
  readonly default?: string;
  readonly required?: true;
  /** A list; protobuf's text format may also repeat the key. */
  readonly repeated?: true;
  /** The reason why its value has no effect here, for the warning about it. */
  readonly unused?: string;
};

/** Kind of a key's value. */
export type FieldKind =
  | { readonly type: "text" | "boolean" | "any" }
  /** True where decimals are allowed. */
  | { readonly type: "number"; readonly min?: number; readonly max?: number }
  | { readonly type: "integer"; readonly min?: number; readonly max?: number }
  /** A model's version: an integer from 0 to 2^63-1. */
  | { readonly type: "version" }
  /** `unusedChoices` are those without effect here, with the reason. */
  | {
      readonly type: "choice";
      readonly choices: readonly string[];
      readonly unusedChoices?: Readonly<Record<string, string>>;
    }
  | { readonly type: "group"; readonly fields: FieldTable }
  /**
   * Names that the user chooses. `pairs` = as protobuf's text format writes a map: `{ key: "a" value: 1 }`, repeated.
   */
  | { readonly type: "map" | "pairs"; readonly values: FieldKind }
  /** `-o` options: single values by key. With a table, only its keys are allowed. */
  | { readonly type: "options"; readonly table?: OptionTable }
  | CustomField<unknown>;

/** A key whose value may have several forms. */
interface CustomField<Value> {
  readonly type: "custom";
  /** Its form, for a message after "expected". */
  readonly expected: string;
  /** Reads the value; undefined for an invalid one. */
  readonly read: (node: ConfigNode) => Value | undefined;
  /** The JSON Schema of its value. */
  readonly schema: object;
}

/** The keys of a part of a configuration file. */
export type FieldTable = Readonly<Record<string, FieldSpec>>;

interface ValueByType {
  readonly text: string;
  readonly choice: string;
  readonly boolean: boolean;
  readonly number: number;
  readonly integer: number;
  readonly version: bigint;
  readonly any: ConfigNode;
  readonly options: RawOptions;
}

type ValueOfKind<Kind> = Kind extends { type: "group"; fields: infer Fields }
  ? FieldValues<Fields>
  : Kind extends { type: "map" | "pairs"; values: infer Values }
    ? ReadonlyMap<string, ValueOfKind<Values>>
    : Kind extends { type: "custom"; read: (node: ConfigNode) => infer Value }
      ? NonNullable<Value>
      : Kind extends { type: keyof ValueByType }
        ? ValueByType[Kind["type"]]
        : never;

type ValueOf<Spec> = Spec extends { repeated: true } ? readonly ValueOfKind<Spec>[] : ValueOfKind<Spec>;

/** Values of a table's keys; absent where the file omits them. */
export type FieldValues<Table> = {
  readonly [Key in keyof Table as Table[Key] extends { required: true } ? Key : never]: ValueOf<Table[Key]>;
} & {
  readonly [Key in keyof Table as Table[Key] extends { required: true } ? never : Key]?: ValueOf<Table[Key]>;
};
