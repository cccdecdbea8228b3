import type { OptionSpec, OptionTable, RawOptions } from "../../../drivers/option-table.ts";
import type { ConfigNode } from "../../../tensor/codecs/config/config-node.ts";

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
  /** True if decimals are allowed. */
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

/** Values of a table's keys; absent if the file omits them. */
export type FieldValues<Table> = {
  readonly [Key in keyof Table as Table[Key] extends { required: true } ? Key : never]: ValueOf<Table[Key]>;
} & {
  readonly [Key in keyof Table as Table[Key] extends { required: true } ? never : Key]?: ValueOf<Table[Key]>;
};

/** Part of a JSON Schema. */
export type JsonSchema = Readonly<Record<string, unknown>>;

const SCALAR = { type: ["string", "number", "boolean"] };

/** The JSON Schema of a part of a configuration file, made from its table of fields. */
export function schemaOfFields(table: FieldTable): JsonSchema {
  const fields = Object.entries(table).filter(([, { unused }]) => unused === undefined);
  const required = fields.filter(([, spec]) => spec.required).map(([key]) => key);
  return {
    type: "object",
    properties: Object.fromEntries(fields.map(([key, spec]) => [key, schemaOfField(spec)])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

function schemaOfField(spec: FieldSpec): JsonSchema {
  const { help, repeated, default: fallback } = spec;
  const kind = schemaOfKind(spec);
  const text = [help, fallback === undefined ? undefined : `Default: ${fallback}.`].filter(
    (part) => part !== undefined,
  );
  return {
    ...(text.length > 0 && { description: text.join(". ") }),
    ...(repeated ? { type: "array", items: kind } : kind),
  };
}

function schemaOfKind(kind: FieldKind): JsonSchema {
  switch (kind.type) {
    case "text":
      return { type: "string", minLength: 1 };
    case "boolean":
      return { type: "boolean" };
    case "any":
      return {};
    case "number":
    case "integer":
      return { type: kind.type, ...boundsOf(kind) };
    case "version":
      return { type: "integer", minimum: 0 };
    case "choice":
      return { enum: kind.choices };
    case "group":
      return schemaOfFields(kind.fields);
    case "map":
    case "pairs":
      return { type: "object", additionalProperties: schemaOfKind(kind.values) };
    case "options":
      return kind.table === undefined ? { type: "object" } : schemaOfOptions(kind.table);
    case "custom":
      return kind.schema as JsonSchema;
  }
}

function boundsOf({ min, max }: { readonly min?: number; readonly max?: number }): JsonSchema {
  return { ...(min !== undefined && { minimum: min }), ...(max !== undefined && { maximum: max }) };
}

function schemaOfOptions(table: OptionTable): JsonSchema {
  const options = Object.entries<OptionSpec>(table);
  return {
    type: "object",
    properties: Object.fromEntries(options.map(([key, { help }]) => [key, { description: help, ...SCALAR }])),
    additionalProperties: false,
  };
}
