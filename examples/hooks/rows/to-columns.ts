import type { TensorSpec, Values } from "kserving";

/** Inputs of a model for a list of rows: objects with a value for each input, or the values of its only one. */
export function toColumns(rows: readonly unknown[], inputs: readonly TensorSpec[] = []): Values {
  const [first] = rows;
  const names = isObject(first) ? Object.keys(first) : undefined;
  const columns = names?.map((name) => [name, rows.map((row) => (isObject(row) ? row[name] : undefined))] as const);
  const only = inputs[0]?.name ?? "instances";
  return Object.fromEntries(columns ?? [[only, rows]]) as Values;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
