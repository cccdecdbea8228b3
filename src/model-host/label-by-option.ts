import { readFileSync } from "node:fs";
import type { Logger } from "../observability/logger.ts";
import { labelClasses } from "../signature/describe-tensors.ts";
import type { Signature } from "../signature/signature.ts";

type Signatures = Readonly<Record<string, Signature>>;

/**
 * The signatures with the names of classes that the option `labels` gives; as they are without it. Warns where no
 * output has so many classes.
 */
export function labelByOption(signatures: Signatures, option: string | undefined, log: Logger): Signatures {
  if (option === undefined) return signatures;
  const labels = readLabels(option);
  const labelled = labelClasses(signatures, labels);
  const outputs = Object.values(labelled).flatMap((signature) => signature.outputs ?? []);
  if (outputs.length > 0 && outputs.every((spec) => spec.labels === undefined)) {
    const found = outputs.map(({ name, shape }) => `${name} [${shape ?? "any shape"}]`).join(", ");
    log.warn(`labels names ${labels.length} classes (${labels[0]}, …), and no output has as many columns: ${found}.`);
  }
  return labelled;
}

/** Hooks may take an option of this name too, so that a text which is not a file is not an error. */
function readLabels(option: string): readonly string[] {
  try {
    return readFileSync(option, "utf8").trimEnd().split(/\r?\n/);
  } catch {
    return option.split(",").map((label) => label.trim());
  }
}
