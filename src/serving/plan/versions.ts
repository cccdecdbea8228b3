/** The versions of one model, as they are wanted and as they are. */
export interface VersionsSeen {
  /** Those that should be served, highest first; none once a client has unloaded the model. */
  readonly wanted: readonly bigint[];
  /** Every listed version. */
  readonly known: readonly bigint[];
  /** Those that answer requests. */
  readonly served: readonly bigint[];
  /** True while a load on request is about to begin, which loads all that is wanted itself. */
  readonly isHeld: boolean;
}

/** Something to be done with one version, and the row that says so. */
export interface VersionAction {
  readonly row: string;
  /** `aspire`: it should be as it is wanted; `drop`: it should be unloaded. Neither changes one that is so already. */
  readonly do: "aspire" | "drop";
  readonly version: bigint;
}

/**
 * The actions that versions of a model need, in order. It stays available: one that answers goes once another does, of
 * those that are wanted. If 3 and 1 are wanted and 1 answers, 2 goes as soon as 3 is listed, whether 3 loads or fails.
 * A label is no reason to keep a version: which are wanted is said elsewhere.
 */
export function planVersions({ wanted, known, served, isHeld }: VersionsSeen): readonly VersionAction[] {
  // V1: the failure of such a load is reported by that, and would start it again.
  if (isHeld) return [];
  // V2: it is wanted.
  const aspired = wanted.map((version) => ({ row: "V2", do: "aspire", version }) as const);
  const others = known.filter((version) => !wanted.includes(version));
  const answers = wanted.length === 0 || wanted.some((version) => served.includes(version));
  // V3: it is not wanted, and does not answer. V4: it does, and so does one that is wanted, or none is.
  // It stays as long as it is the only one: that has no row.
  const dropped = others.flatMap((version) => {
    if (!served.includes(version)) return { row: "V3", do: "drop", version } as const;
    return answers ? ({ row: "V4", do: "drop", version } as const) : [];
  });
  return [...aspired, ...dropped];
}

/** The labels of a model, as they should be and as they are. */
export interface LabelsSeen {
  readonly wanted: Readonly<Record<string, bigint>>;
  readonly assigned: ReadonlyMap<string, bigint>;
  /** Those that answer requests. */
  readonly served: readonly bigint[];
  /** True if a label may mean a version that does not answer. */
  readonly allowUnavailable: boolean;
}

/** Versions by label; a label that should move stays at its old version until the new one answers. */
export function planLabels({ wanted, assigned, served, allowUnavailable }: LabelsSeen): ReadonlyMap<string, bigint> {
  const planned = new Map([...assigned].filter(([label]) => Object.hasOwn(wanted, label)));
  for (const [label, version] of Object.entries(wanted))
    if (allowUnavailable || served.includes(version)) planned.set(label, version);
  return planned;
}

/** TensorFlow Serving's text for each label that does not mean the version that it should. */
export function labelProblems(
  model: string,
  { wanted, assigned }: Pick<LabelsSeen, "wanted" | "assigned">,
): readonly string[] {
  const unassigned = Object.entries(wanted).filter(([label, version]) => assigned.get(label) !== version);
  return unassigned.map(
    ([label, version]) =>
      `Request to assign label "${label}" to version ${version} of model ${model}, which is not currently available for inference`,
  );
}
