import type { Files } from "./changes.ts";

/** The names of the models that should be served, in their order, and of those that are known. */
export interface ModelsSeen {
  readonly wanted: readonly string[];
  readonly known: readonly string[];
  /** Name of a model that is loaded after all others. */
  readonly last?: string | undefined;
}

/** Something to be done with one model, and the row that says so. `drop`: none of its versions should be served. */
export interface ModelAction {
  readonly row: string;
  readonly do: "aspire" | "drop";
  readonly name: string;
}

/** The actions that models need, in order: what is not wanted any more gives way to what is loaded. */
export function planModels({ wanted, known, last }: ModelsSeen): readonly ModelAction[] {
  const names = new Set(wanted);
  const isLast = (name: string) => name === last;
  return [
    // M1: it is not wanted any more.
    ...known.filter((name) => !names.has(name)).map((name) => ({ row: "M1", do: "drop", name }) as const),
    // M2: it is wanted. M3: so is the one that others do not wait for.
    ...wanted.filter((name) => !isLast(name)).map((name) => ({ row: "M2", do: "aspire", name }) as const),
    ...wanted.filter(isLast).map((name) => ({ row: "M3", do: "aspire", name }) as const),
  ];
}

/** A model that may be unloaded together with others. */
interface UnloadableModel {
  readonly name: string;
  /** Names of the models that it needs. */
  readonly needs: ReadonlySet<string>;
  /** True if it was loaded only because others need it. */
  readonly isDependencyOnly: boolean;
}

/** The models that a client unloads with one that it names, in order, and the rows that say so. */
export function planUnload(name: string, models: readonly UnloadableModel[]): ReadonlyMap<string, "U1" | "U2" | "U3"> {
  const [rows, begun] = [new Map<string, "U1" | "U2" | "U3">(), new Set<string>()];
  const needing = (need: string) => models.filter((model) => model.needs.has(need) && !rows.has(model.name));
  const add = (one: string, row: "U1" | "U2" | "U3") => {
    if (begun.has(one)) return;
    begun.add(one);
    // U1: what needs it goes before it, since its requests use it. U2: it was asked for.
    for (const other of needing(one)) add(other.name, "U1");
    rows.set(one, row);
    const needs = models.find((model) => model.name === one)?.needs;
    // U3: what was loaded for it alone goes after it.
    for (const need of models.filter((other) => other.isDependencyOnly && needs?.has(other.name)))
      if (needing(need.name).length === 0) add(need.name, "U3");
  };
  add(name, "U2");
  return rows;
}

/** A model that a client loads, until that load begins. */
interface RequestedLoad {
  /** False until it was looked for which of its files should be served: until then, its needs are not known. */
  readonly isKnown: boolean;
  /** Names of the models that these need, and that clients have unloaded. */
  readonly unloadedNeeds: readonly string[];
  /** Names of those whose loads have begun for this one: who unloads them after that wants it so. */
  readonly begun: readonly string[];
}

/** The next step of such a load, and the row that says so. `load first`: another model, as one that it needs. */
type RequestAction =
  | { readonly row: "U4" | "U6"; readonly do: "look" | "load" }
  | { readonly row: "U5"; readonly do: "load first"; readonly name: string };

/** The next step of a load that a client asks for. Nothing else begins one of the same model meanwhile: see V1. */
export function planRequest({ isKnown, unloadedNeeds, begun }: RequestedLoad): RequestAction {
  // U4: its files may be others than at the last look, and need other models.
  if (!isKnown) return { row: "U4", do: "look" };
  // U5: what it needs begins before it, each in these same steps, and may be unloaded with it again: see U3.
  const need = unloadedNeeds.find((name) => !begun.includes(name));
  if (need !== undefined) return { row: "U5", do: "load first", name: need };
  // U6: it begins; like any other, it has its place once they have loaded (L3, N1).
  return { row: "U6", do: "load" };
}

/** A version that should be served, with its files. */
interface WantedVersion extends Files {
  readonly version: bigint;
}

/** A version as it is. */
interface KnownVersion {
  readonly version: bigint;
  /** The files that it should have by the last action on it; undefined = it should be unloaded. */
  readonly aspired: Files | undefined;
  /** True if it answers requests. */
  readonly isServed: boolean;
  /** True if nothing is left of it. */
  readonly isEnded: boolean;
}

/** The versions of one model, as they are wanted and as they are. */
export interface VersionsSeen<Wanted extends WantedVersion = WantedVersion> {
  /** Those that should be served, highest first. */
  readonly wanted: readonly Wanted[];
  /** Every listed version, highest first. */
  readonly known: readonly KnownVersion[];
  /** True once a client has unloaded the model: none is wanted then. */
  readonly isUnloaded: boolean;
  /** True while a load on request is about to begin, which loads all that is wanted itself. */
  readonly isHeld: boolean;
}

/**
 * Something to be done with one version, and the row that says so. `aspire`: it should have these files; `describe`: it
 * should have had them already, as they were described before; `drop`: it should be unloaded.
 */
export type VersionAction<Wanted extends WantedVersion = WantedVersion> =
  | { readonly row: string; readonly do: "aspire" | "describe"; readonly version: bigint; readonly files: Wanted }
  | { readonly row: string; readonly do: "drop"; readonly version: bigint };

/**
 * The actions that versions of a model need, in order. It stays available: one that answers goes once another does, of
 * those that are wanted. If 3 and 1 are wanted and 1 answers, 2 goes as soon as 3 is listed, whether 3 loads or fails.
 * A label is no reason to keep a version: which are wanted is said elsewhere.
 */
export function planVersions<Wanted extends WantedVersion>(
  seen: VersionsSeen<Wanted>,
): readonly VersionAction<Wanted>[] {
  const { known, isUnloaded, isHeld } = seen;
  // V1: the failure of such a load is reported by that, and would start it again.
  if (isHeld && seen.wanted.length > 0) return [];
  const wanted = new Map<bigint, Wanted>(isUnloaded ? [] : seen.wanted.map((files) => [files.version, files]));
  const aspired = new Map(known.map((version) => [version.version, version.aspired]));
  // V2: other files are wanted of it than those that it should have. V5: the same, whether they have loaded or failed.
  const up = Array.from(wanted, ([version, files]) =>
    aspired.get(version)?.fingerprint === files.fingerprint
      ? ({ row: "V5", do: "describe", version, files } as const)
      : ({ row: "V2", do: "aspire", version, files } as const),
  );
  const answers = wanted.size === 0 || known.some(({ version, isServed }) => isServed && wanted.has(version));
  // V3: it is not wanted, and does not answer. V4: it does, and so does one that is wanted, or none is.
  // It stays as long as it is the only one: that has no row, and neither has what goes already.
  const down = known.flatMap(({ version, aspired: files, isServed }) => {
    if (files === undefined || wanted.has(version)) return [];
    if (!isServed) return { row: "V3", do: "drop", version } as const;
    return answers ? ({ row: "V4", do: "drop", version } as const) : [];
  });
  return [...up, ...down];
}

/** Maximum number of ended versions that are still listed: models may be replaced for years. */
const MAX_ENDED = 10;

/** V6: the versions that are listed no more, of those that have ended and are not wanted: all but the highest. */
export function planForgotten({ wanted, known }: Pick<VersionsSeen, "wanted" | "known">): readonly bigint[] {
  const isWanted = ({ version }: KnownVersion) => wanted.some((one) => one.version === version);
  const ended = known.filter((one) => one.isEnded && !isWanted(one));
  return ended.slice(MAX_ENDED).map(({ version }) => version);
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
