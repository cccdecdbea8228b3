import type { ConfigNode } from "../../codecs/config/config-node.ts";
import type { OptionTable, RawOptions } from "../../drivers/option-table.ts";

/** One key of a configuration file: how its value is read, what it means. */
export type FieldSpec = FieldKind & {
  readonly help?: string;
  /** Its value when left out, in words. */
  readonly default?: string;
  readonly required?: true;
  /** A list; protobuf's text format may also repeat the key. */
  readonly repeated?: true;
  /** The reason why its value changes nothing here, for the warning that names it. */
  readonly unused?: string;
};

/** Kind of a key's value. */
export type FieldKind =
  | { readonly type: "text" | "boolean" | "any" }
  /** May have decimals. */
  | { readonly type: "number"; readonly min?: number; readonly max?: number }
  | { readonly type: "integer"; readonly min?: number; readonly max?: number }
  /** A model's version: an integer from 0 to 2^63-1. */
  | { readonly type: "version" }
  | { readonly type: "choice"; readonly choices: readonly string[] }
  | { readonly type: "group"; readonly fields: FieldTable }
  /** Names that the user chooses. `pairs` is how protobuf's text format writes a map: `{ key: "a" value: 1 }`, repeated. */
  | { readonly type: "map" | "pairs"; readonly values: FieldKind }
  /** `-o` options: single values by key. With a table only its keys are taken. */
  | { readonly type: "options"; readonly table?: OptionTable }
  | CustomField<unknown>;

/** A key whose value may be written in several ways. */
interface CustomField<Value> {
  readonly type: "custom";
  /** Its form, to follow "expected". */
  readonly expected: string;
  /** Undefined for a value that is none. */
  readonly read: (node: ConfigNode) => Value | undefined;
  /** The JSON Schema of what it takes. */
  readonly schema: object;
}

/** The keys that a part of a configuration file takes. */
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

/** Values of a table's keys; those that the file leaves out are absent. */
export type FieldValues<Table> = {
  readonly [Key in keyof Table as Table[Key] extends { required: true } ? Key : never]: ValueOf<Table[Key]>;
} & {
  readonly [Key in keyof Table as Table[Key] extends { required: true } ? never : Key]?: ValueOf<Table[Key]>;
};
