import { failedPrecondition } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";

/** The labels of a model's versions: those that were asked for, and those that are assigned. */
export class VersionLabels {
  readonly #model: string;
  readonly #assigned = new Map<string, bigint>();
  /** Messages of labels that could not be assigned, as logged last. */
  #logged: readonly string[] = [];
  /** Versions by label, as the model's configuration says. */
  wanted: Readonly<Record<string, bigint>> = {};

  constructor(model: string) {
    this.#model = model;
  }

  /** Versions by label; a label that should move stays at its old version until the new one is available. */
  get assigned(): ReadonlyMap<string, bigint> {
    return this.#assigned;
  }

  /** Labels of a version. */
  of(version: bigint): readonly string[] {
    return [...this.#assigned].filter(([, labelled]) => labelled === version).map(([label]) => label);
  }

  /** Assigns the wanted labels to versions that may have one; others keep their assignment. */
  assign(mayHaveLabel: (version: bigint) => boolean): void {
    for (const label of this.#assigned.keys()) if (!Object.hasOwn(this.wanted, label)) this.#assigned.delete(label);
    for (const [label, version] of Object.entries(this.wanted))
      if (mayHaveLabel(version)) this.#assigned.set(label, version);
  }

  /** Throws `failed_precondition` for a label whose version is not the one that it should be. */
  assertAssigned(labels: Readonly<Record<string, bigint>>): void {
    const [problem] = this.#problemsOf(labels);
    if (problem !== undefined) throw failedPrecondition(problem);
  }

  /** Logs the labels that are not assigned as they should be; each once, as long as that lasts. */
  warnOfUnassigned(log: Pick<Logger, "warn">): void {
    const problems = this.#problemsOf(this.wanted);
    for (const text of problems) if (!this.#logged.includes(text)) log.warn(text);
    this.#logged = problems;
  }

  /** TensorFlow Serving's text for each label with another version. */
  #problemsOf(labels: Readonly<Record<string, bigint>>): readonly string[] {
    const unassigned = Object.entries(labels).filter(([label, version]) => this.#assigned.get(label) !== version);
    return unassigned.map(
      ([label, version]) =>
        `Request to assign label "${label}" to version ${version} of model ${this.#model}, which is not currently available for inference`,
    );
  }
}
