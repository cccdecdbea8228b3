import type { ConfigNode } from "../../../tensor/codecs/config/config-node.ts";
import type { DType } from "../../../tensor/dtype.ts";
import type { FieldKind } from "../config/field-table.ts";

/** Requests with which a version is warmed up before it becomes available. */
export type WarmUpEntry = RandomWarmUp | FileWarmUp | SampleWarmUp;

/** Random values, for each model of a pipeline. */
interface RandomWarmUp {
  readonly kind: "random";
  /** Number of requests to each copy. */
  readonly count: number;
}

/** The request of a JSON file. */
interface FileWarmUp {
  readonly kind: "file";
  /** Absolute. */
  readonly path: string;
  readonly count: number;
}

/** Inputs of the first model as Triton's `model_warmup` describes them. */
interface SampleWarmUp {
  readonly kind: "sample";
  readonly name: string;
  readonly inputs: readonly SampleInput[];
  readonly count: number;
}

/** One input of a sample. */
export interface SampleInput {
  readonly name: string;
  readonly dtype: DType;
  /** With the batch, if the model has one. */
  readonly shape: readonly number[];
  /** Rows of the batch, each with the values of the file; 1 if there is none. */
  readonly rows: number;
  /** Its values; `path` is the absolute path of a file of raw values. */
  readonly values: "zero" | "random" | { readonly path: string };
}

/** Files that the entries read. */
export function warmUpFiles(entries: readonly WarmUpEntry[] = []): string[] {
  return entries.flatMap((entry) => {
    if (entry.kind === "file") return [entry.path];
    if (entry.kind === "random") return [];
    return entry.inputs.flatMap(({ values }) => (typeof values === "object" ? [values.path] : []));
  });
}

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
  const isKnown = values.size === node.entries.length && [...values.keys()].every((key) => REQUEST_KEYS.includes(key));
  if (!isKnown || typeof request !== "string" || request === "") return undefined;
  const isCount = typeof count === "bigint" && count >= 1n && count <= BigInt(Number.MAX_SAFE_INTEGER);
  return isCount ? { request, count: Number(count) } : undefined;
}

const REQUEST_KEYS = ["request", "count"];

function one(request: string): WarmUpRequest {
  return { request, count: 1 };
}
