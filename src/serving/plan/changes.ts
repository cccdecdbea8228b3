import { RETIRE_MS } from "./residence.ts";
import { firstOf, type InRow, rowsFor } from "./table.ts";

/** The change that makes one version as it is wanted; decisions that are made meanwhile count after it. */
export type Change =
  | { readonly is: "none" }
  /** Its files are loaded, as the rows of loads say. */
  | { readonly is: "loading"; readonly isGivenUp: boolean }
  /** It should go, and waits for models that need it, which are about to be replaced by files that do without it. */
  | { readonly is: "yielding" }
  /** It waits for models that need it and go, too. `until`: when they are waited for no longer. */
  | { readonly is: "outlasting"; readonly until: number }
  /** A copy has its last requests. `until`: when that is over; `isLast`: nothing answers in its place. */
  | { readonly is: "retiring"; readonly until: number; readonly isLast: boolean }
  | { readonly is: "freeing"; readonly isLast: boolean }
  | { readonly is: "freed" };

/** Files of a version, by what tells them from others. */
export interface Files {
  readonly fingerprint: string;
  /** The same without the content of their hook file; absent = that is not known apart. */
  readonly modelFingerprint?: string | undefined;
}

/** The part of what answers that stays if other files are wanted: its `model`, if they differ in their hooks alone. */
export type Kept = "all" | "model" | "nothing";

/** Files that are wanted, and what answers until now. */
export interface KeptSeen {
  readonly wanted: Files | undefined;
  /** The files of what answers; undefined = nothing does. */
  readonly served: Files | undefined;
  /** True if it has to be loaded again, whatever its files. */
  readonly isOrdered: boolean;
  /** True if it may have other hooks than its files have: a change of them has begun, and may have been given up. */
  readonly isInDoubt: boolean;
  /** True if it is in memory, and has a hook file. */
  readonly hasHooks: boolean;
}

/** The part of what answers that stays under the files that are wanted. */
export function keptOf({ wanted, served, isOrdered, isInDoubt, hasHooks }: KeptSeen): Kept {
  if (isOrdered || wanted === undefined || served === undefined) return "nothing";
  if (wanted.fingerprint === served.fingerprint && !isInDoubt) return "all";
  return hasHooks && haveSameModel(wanted, served) ? "model" : "nothing";
}

/** True if those that wait for one decision hear that its load was given up, and do not wait for the next one. */
export function isGivenUp(wanted: Files | undefined, next: Files | undefined): boolean {
  return wanted !== undefined && next === undefined;
}

/** True if files are known to differ in their hooks at most. */
export function haveSameModel(one: Files | undefined, other: Files | undefined): boolean {
  return one?.modelFingerprint !== undefined && one.modelFingerprint === other?.modelFingerprint;
}

/** Everything outside a change that decides about it, looked at just before it is planned. */
export interface ChangeFacts {
  /** True if another decision counts than the one that the change, or the last one, is for. */
  readonly isNew: boolean;
  /** The files that should be served by the decision that counts; undefined = none. */
  readonly wanted: Files | undefined;
  /** Those of the decision that the change is for. */
  readonly begun: Files | undefined;
  /** True while these are being loaded, and wait for nothing before that any more. */
  readonly isLoading: boolean;
  /** True if a copy of it answers. */
  readonly isServed: boolean;
  /** True if a model that it needs takes or gives something else than when it was loaded last. */
  readonly isStale: boolean;
  /** True if requests hold the copy that retires, or threads keep it. */
  readonly isHeld: boolean;
  /** Versions whose stages need the version's model; looked for when they matter. */
  readonly dependents: readonly Dependent[];
}

/** A version that needs another model: for what loads, what answers, or the last requests of what did. */
export interface Dependent {
  /** True if it should be served. */
  readonly isWanted: boolean;
  /** True if the files that it should have need that, too. */
  readonly willNeed: boolean;
  /** True once they have loaded, or failed. */
  readonly isSettled: boolean;
  /** True if those that answer name a version of that. */
  readonly namesVersion: boolean;
  /** True if those before have their last requests, and need that. */
  readonly isRetiring: boolean;
}

/** Something that has happened to a version while it changed. */
export type ChangeEvent =
  /** Its load is over. `hasFormer`: what answered until now retires. */
  { readonly is: "loaded"; readonly hasFormer: boolean } | { readonly is: "freed" };

/** Something to be done with a version. */
interface Deed {
  /**
   * `renew`: its files are loaded again; `yield`: it is planned again once everything is known that is changed together
   * with it; `retire`: nothing answers from now on; `end`: it has ended.
   */
  readonly do: "load" | "renew" | "give up" | "yield" | "outlast" | "stay" | "retire" | "free" | "end";
}

/** Something to be done with a version, and the row that says so. */
export type ChangeAction = InRow<Deed>;

const row = rowsFor<Change, ChangeFacts, Deed>();

/**
 * The action that a version needs now, by the first row that holds; undefined = none until {@link changeWakeOf}, or an
 * event. A wait has no row.
 */
export const planChange = firstOf([
  // It should be served, or served with other files: what answers does so until they have loaded.
  row("C1", ["none"], {
    when: (_, { isNew, wanted }) => isNew && wanted !== undefined,
    act: () => ({ do: "load" }),
  }),
  // It should not be served.
  row("C2", ["none"], { when: (_, { isNew, isServed }) => isNew && !isServed, act: () => ({ do: "end" }) }),
  row("C3", ["none"], {
    when: (_, facts) => facts.isNew && facts.dependents.length > 0,
    act: () => ({ do: "yield" }),
  }),
  row("C4", ["none"], { when: (_, { isNew }) => isNew, act: () => ({ do: "retire" }) }),
  // It would not go with the model that it needs. What answers does so until it has loaded.
  row("C5", ["none"], {
    when: (_, { wanted, isStale }) => wanted !== undefined && isStale,
    act: () => ({ do: "renew" }),
  }),
  // Other files are wanted than those that load.
  row("C6", ["loading"], {
    when: ({ isGivenUp }, facts) => facts.isNew && !isGivenUp && !mayLoadOn(facts),
    act: () => ({ do: "give up" }),
  }),
  // It should be served after all.
  row("C7", ["yielding", "outlasting"], { when: (_, { isNew }) => isNew, act: () => ({ do: "stay" }) }),
  // None that needs it will do without it soon: those that go have their time, the others have to fail.
  row("C8", ["yielding"], {
    when: (_, { dependents }) => !dependents.some(isLeaving),
    act: () => ({ do: "outlast" }),
  }),
  row("C9", ["outlasting"], {
    when: ({ until }, { dependents }, now) => until <= now || dependents.every(({ isWanted }) => isWanted),
    act: () => ({ do: "retire" }),
  }),
  // Requests that never end must not keep their copy.
  row("C10", ["retiring"], {
    when: ({ until }, { isHeld }, now) => !isHeld || until <= now,
    act: () => ({ do: "free" }),
  }),
  row("C11", ["freed"], { act: () => ({ do: "end" }) }),
]);

/** True while it is about to do without the model, or with another version, until the last requests before are over. */
function isLeaving({ isWanted, willNeed, isSettled, namesVersion, isRetiring }: Dependent): boolean {
  return isWanted && (!willNeed || namesVersion) && (!isSettled || isRetiring);
}

/** Equal files may have changed since their load began, which is noticed after it. */
function mayLoadOn({ isLoading, wanted, begun }: ChangeFacts): boolean {
  return isLoading && wanted?.fingerprint === begun?.fingerprint;
}

/** The time at which a version has to be planned again without an event. */
export function changeWakeOf(change: Change): number {
  return "until" in change ? change.until : Number.POSITIVE_INFINITY;
}

/** The change after an event. */
export function afterChangeEvent(change: Change, event: ChangeEvent, now: number): Change {
  if (event.is === "loaded") return event.hasFormer ? retire(now, false) : { is: "none" };
  return change.is === "freeing" && change.isLast ? { is: "freed" } : { is: "none" };
}

/** The change once an action has begun. */
export function afterChangeAction(change: Change, action: ChangeAction, now: number): Change {
  switch (action.do) {
    case "load":
      return { is: "loading", isGivenUp: false };
    case "give up":
      return { is: "loading", isGivenUp: true };
    case "yield":
      return { is: "yielding" };
    case "outlast":
      return { is: "outlasting", until: now + RETIRE_MS };
    case "retire":
      return retire(now, true);
    case "free":
      return { is: "freeing", isLast: change.is === "retiring" && change.isLast };
    case "renew":
    case "stay":
    case "end":
      return { is: "none" };
  }
}

function retire(now: number, isLast: boolean): Change {
  return { is: "retiring", until: now + RETIRE_MS, isLast };
}

/** A wish that the hooks of what answers are read again, beside any change. */
export type HooksWish =
  | { readonly is: "asked"; readonly since: number }
  | { readonly is: "replaced" }
  | { readonly is: "failed"; readonly reason: unknown };

/** Everything outside such a wish that decides about it. */
export interface HooksFacts {
  /** True while a load goes on that may have read older ones. */
  readonly isLoading: boolean;
  /** The last time at which they began to be read. */
  readonly readAt: number;
  /** True if something answers that has a hook file. */
  readonly hasFile: boolean;
  /** True if the copy that got them answers, nothing is wanted since, and no files that differ in more than hooks. */
  readonly isCurrent: boolean;
}

type HooksDeed =
  | { readonly do: "await the load" | "keep" | "replace" | "reach" }
  /** `isTold`: it is also the error of the version. */
  | { readonly do: "refuse"; readonly reason: unknown; readonly isTold: boolean };

/** Something to be done for such a wish, and the row that says so. */
export type HooksAction = InRow<HooksDeed>;

const hooksRow = rowsFor<HooksWish, HooksFacts, HooksDeed>();

/** The action that such a wish needs, by the first row that holds; there always is one. */
export const planHooks = firstOf([
  hooksRow("C12", ["asked"], { when: (_, { isLoading }) => isLoading, act: () => ({ do: "await the load" }) }),
  hooksRow("C13", ["asked"], {
    when: ({ since }, { readAt, hasFile }) => readAt >= since || !hasFile,
    act: () => ({ do: "keep" }),
  }),
  hooksRow("C14", ["asked"], { act: () => ({ do: "replace" }) }),
  hooksRow("C15", ["replaced"], { when: (_, { isCurrent }) => isCurrent, act: () => ({ do: "reach" }) }),
  // The files that are wanted by now have them read again where they keep the copy.
  hooksRow("C16", ["replaced"], { act: () => ({ do: "keep" }) }),
  // Files that have been replaced and do not load have a reason of their own, unless they differ in the hooks alone.
  hooksRow("C17", ["failed"], { act: ({ reason }, { isCurrent }) => ({ do: "refuse", reason, isTold: isCurrent }) }),
]);
