import type { ConfigNode } from "../../codecs/config/config-node.ts";
import type { FieldKind } from "./field-table.ts";

/**
 * The key by which a split routes a request, as users write it: the name of a header (or of gRPC metadata), all inputs,
 * or the names of some inputs.
 */
export type GivenSticky = string | { readonly inputs: "all" | readonly string[] };

const EXPECTED = "a header's name, { inputs: all } or a list of inputs such as { inputs: [user_id] }";

/** The key `sticky` of a model. */
export const STICKY_FIELD = {
  type: "custom",
  expected: EXPECTED,
  read: readSticky,
  schema: {
    anyOf: [
      { type: "string", minLength: 1 },
      {
        type: "object",
        properties: {
          inputs: { anyOf: [{ enum: ["all"] }, { type: "array", items: { type: "string" }, minItems: 1 }] },
        },
        required: ["inputs"],
        additionalProperties: false,
      },
    ],
  },
} as const satisfies FieldKind;

/** The option `sticky` of a model in `createServer`. */
export const STICKY_CHECK = { expected: EXPECTED, accepts: isSticky };

function readSticky(node: ConfigNode): GivenSticky | undefined {
  const value = plainOf(node);
  return isSticky(value) ? value : undefined;
}

function plainOf(node: ConfigNode): unknown {
  if (node.kind === "scalar") return node.value;
  if (node.kind === "list") return node.items.map(plainOf);
  return Object.fromEntries(node.entries.map(({ key, value }) => [key, plainOf(value)]));
}

function isSticky(value: unknown): value is GivenSticky {
  if (isText(value)) return true;
  if (typeof value !== "object" || value === null || Object.keys(value).join() !== "inputs") return false;
  const { inputs } = value as { readonly inputs: unknown };
  return inputs === "all" || (Array.isArray(inputs) && inputs.length > 0 && inputs.every(isText));
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
