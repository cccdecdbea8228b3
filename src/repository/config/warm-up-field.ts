import type { ConfigNode } from "../../codecs/config/config-node.ts";
import type { WarmUpEntry } from "../warm-up/warm-up-entry.ts";
import type { FieldKind } from "./field-table.ts";

/**
 * A warm-up as a user writes it: `random`, or the path of a file of requests, and the number of requests to each copy.
 */
export interface WarmUpRequest {
  readonly request: string;
  readonly count: number;
}

/** A request whose values the server chooses. */
const RANDOM = "random";

/** The entries of a warm-up; `toPath` makes a path absolute. */
export function toWarmUpEntries(requests: readonly WarmUpRequest[], toPath: (path: string) => string): WarmUpEntry[] {
  return requests.map(({ request, count }) =>
    request === RANDOM ? { kind: RANDOM, count } : { kind: "file", path: toPath(request), count },
  );
}

const REQUEST_SCHEMA = { type: "string", minLength: 1 };
const ITEM_SCHEMA = {
  anyOf: [
    REQUEST_SCHEMA,
    {
      type: "object",
      properties: { request: REQUEST_SCHEMA, count: { type: "integer", minimum: 1 } },
      required: ["request"],
      additionalProperties: false,
    },
  ],
};

/** The key `warmup` of a model. */
export const WARM_UP_FIELD = {
  type: "custom",
  expected: "random, a request file, { request: FILE, count: COUNT } or a list of such",
  read: readWarmUp,
  schema: { anyOf: [...ITEM_SCHEMA.anyOf, { type: "array", items: ITEM_SCHEMA }] },
} as const satisfies FieldKind;

function readWarmUp(node: ConfigNode): readonly WarmUpRequest[] | undefined {
  const items = (node.kind === "list" ? node.items : [node]).map(readItem);
  return items.every((item) => item !== undefined) ? items : undefined;
}

function readItem(node: ConfigNode): WarmUpRequest | undefined {
  if (node.kind === "list") return undefined;
  if (node.kind === "scalar") return typeof node.value === "string" && node.text !== "" ? one(node.text) : undefined;
  const values = new Map(node.entries.map(({ key, value }) => [key, value.kind === "scalar" ? value.value : null]));
  const { request, count = 1n } = Object.fromEntries(values);
  const isKnown = values.size === node.entries.length && [...values.keys()].every((key) => KEYS.includes(key));
  if (!isKnown || typeof request !== "string" || request === "") return undefined;
  const isCount = typeof count === "bigint" && count >= 1n && count <= BigInt(Number.MAX_SAFE_INTEGER);
  return isCount ? { request, count: Number(count) } : undefined;
}

const KEYS = ["request", "count"];

function one(request: string): WarmUpRequest {
  return { request, count: 1 };
}
