import { failedPrecondition, type ServingError } from "../errors.ts";

/** A runtime that was looked for and could not be used. */
export interface MissingRuntime {
  /** The name in `kserving runtimes install NAME`. */
  readonly name: string;
  /** Its usual name, for example TensorFlow. */
  readonly title: string;
  /** The places where it was looked for, each as people would name it, in the order of the search. */
  readonly looked: readonly string[];
  /** The error of loading it, where one was found that does not load. */
  readonly cause?: unknown;
}

/** The error for a missing native runtime: its name, the searched places, and how to install it. */
export function missingRuntime({ name, title, looked, cause }: MissingRuntime): ServingError {
  const places = looked.length === 0 ? "" : ` Looked for it in: ${looked.join(", ")}.`;
  const message = `${title} is not installed, or not where it is looked for.${places} Run: kserving runtimes install ${name} (kserving runtimes list shows what is found where).`;
  return failedPrecondition(message, cause);
}
