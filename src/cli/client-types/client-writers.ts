import type { DescribedModel } from "./typed-tensor.ts";
import { writeGoClient } from "./write-go-client.ts";
import { writeModelTypes } from "./write-model-types.ts";
import { writePythonClient } from "./write-python-client.ts";

/** Writes the code by which programs of one language call models; `source` says where the models are. */
type WriteClient = (models: ReadonlyMap<string, DescribedModel>, source: string) => string;

/** Writers by language: types for `kserving/client`, and clients that are complete. */
export const CLIENT_WRITERS = {
  typescript: writeModelTypes,
  python: writePythonClient,
  go: writeGoClient,
} satisfies Record<string, WriteClient>;
/** A key of {@link CLIENT_WRITERS}. */
export type ClientLanguage = keyof typeof CLIENT_WRITERS;

/** The language of a file by its ending; TypeScript where it tells none. */
export function languageOfFile(path: string): ClientLanguage {
  if (path.endsWith(".py")) return "python";
  return path.endsWith(".go") ? "go" : "typescript";
}
