import type { ServingError } from "../errors.ts";

/** A version that did not load, and why. */
interface FailedVersion {
  readonly model: string;
  readonly version: bigint;
  readonly error: Pick<ServingError, "code" | "message"> | undefined;
}

/**
 * TensorFlow Serving's text for versions that did not load: it calls them servables at
 * its start, and models after a reload.
 */
export function notAvailableText(what: "servable" | "model", failed: readonly FailedVersion[]): string {
  const versions = failed.map(({ model, version, error }) => {
    const why = error === undefined ? "" : ` due to error: ${error.code.toUpperCase()}: ${error.message}`;
    return `{{name: ${model} version: ${version}}${why}}, `;
  });
  return `${failed.length} ${what}(s) did not become available: {${versions.join("")}}`;
}
