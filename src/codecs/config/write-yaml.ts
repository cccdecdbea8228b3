import { stringify } from "yaml";

/** Writes plain values as documents of one YAML file. */
export function writeYaml(...documents: readonly object[]): string {
  return documents.map((document) => stringify(document, { lineWidth: 0, aliasDuplicateObjects: false })).join("---\n");
}
