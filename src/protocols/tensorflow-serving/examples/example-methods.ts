import { ServingError } from "../../../errors.ts";
import type { RecordedKind } from "../../../serving/request-log.ts";
import type { ExampleMethod } from "./results.ts";

/** Methods by the names that signatures and tasks have for them. */
const METHODS: ReadonlyMap<string, ExampleMethod> = new Map([
  ["tensorflow/serving/classify", "classify"],
  ["tensorflow/serving/regress", "regress"],
]);

/** Logs of the methods, if requests are recorded. */
export const EXAMPLE_LOGS = { classify: "classify_log", regress: "regress_log" } as const satisfies Readonly<
  Record<ExampleMethod, RecordedKind>
>;

/** The method of a task's `method_name`; throws `unimplemented` with the original's text. */
export function methodOf(name: string): ExampleMethod {
  const method = METHODS.get(name);
  if (method !== undefined) return method;
  throw new ServingError("unimplemented", `Unsupported signature method_name: ${name}`);
}
