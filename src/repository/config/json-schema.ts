import type { OptionSpec, OptionTable } from "../../drivers/option-table.ts";
import type { FieldKind, FieldSpec, FieldTable } from "./field-table.ts";

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
