import { publicText, ServingError } from "../../errors.ts";
import { hidePaths } from "../../platform/text/hide-paths.ts";
import { firstOf, type InRow, rowsFor } from "./table.ts";

/**
 * One loaded copy of a version, between memory and disk: `resident` answers, `parking` is being freed, `parked` and
 * `failed` wait for a request, `loading` has one that waits.
 */
export type Residence =
  /** `crowds`: the reason why others want its memory; absent = they do not. */
  | { readonly is: "resident"; readonly crowds?: string }
  /** `until`: when its memory is given up for lost. */
  | { readonly is: "parking"; readonly demand: Demand; readonly until: number }
  | { readonly is: "parked"; readonly demand: Demand }
  /** `until`: when the error of its last load is the answer no more. */
  | { readonly is: "failed"; readonly demand: Demand; readonly until: number; readonly error: ServingError }
  /** `isAtOnce`: it takes no place of the loads that run at once. */
  | { readonly is: "loading"; readonly demand: Demand; readonly isAtOnce: boolean };

/** Most urgent request that waits for a copy; `at once` = it may itself be part of a load, which must wait for none. */
export type Demand = "none" | "in turn" | "at once";

/** The use of a copy, looked at just before it is planned. */
export interface Use {
  /** Time without a request after which it is parked, in milliseconds; 0 = never. */
  readonly idleMs: number;
  /** True while a request holds it. */
  readonly isHeld: boolean;
  /** False once other files are wanted, or none: it could not be loaded again. */
  readonly isCurrent: boolean;
  /** True if its files were there at the last check. */
  readonly isPresent: boolean;
  /** True if other models need it: a load of theirs, which has a place, may wait for it. Looked for when it matters. */
  readonly isNeeded: boolean;
  /** End of the last request or load, on the clock of performance.now(). */
  readonly lastUse: number;
}

/** Something that has happened to a copy. */
export type Event =
  | { readonly is: "crowded"; readonly why: string }
  | { readonly is: "freed" }
  | { readonly is: "demanded"; readonly isAtOnce: boolean }
  | { readonly is: "loaded" }
  | { readonly is: "failed"; readonly error: ServingError };

/** Something to be done with a copy. */
type Deed =
  | { readonly do: "park"; readonly why: string }
  | { readonly do: "load"; readonly isAtOnce: boolean }
  | { readonly do: "refuse"; readonly error: ServingError }
  | { readonly do: "hurry" }
  | { readonly do: "abandon" }
  | { readonly do: "stay" };

/** Something to be done with a copy, and the row that says so. */
export type Action = InRow<Deed>;

const row = rowsFor<Residence, Use, Deed>();

/**
 * Time that running requests have to end in a servable that is to be freed, in milliseconds: one that never ends must
 * not keep its memory.
 */
export const RETIRE_MS = 25_000;

/**
 * Milliseconds after a failed load in which requests are answered with its reason: a
 * broken model is not tried for each of them.
 */
const FAILURE_HOLD_MS = 1000;

/**
 * The action that a copy needs now, by the first row that holds; undefined = none until {@link wakeOf}, or an event. A
 * wait has no row.
 */
export const plan = firstOf([
  // Others need its memory. They have chosen it as an idle one; if it is not any more, they choose again.
  row("I2", ["resident"], {
    when: ({ crowds }) => crowds !== undefined,
    act: ({ crowds = "" }, use) => (isUnused(use) ? { do: "park", why: crowds } : { do: "stay" }),
  }),
  // It had no request for its time. Models that need it do not matter: their next request loads it.
  row("I1", ["resident"], {
    when: (_, use, now) => isUnused(use) && idleEnd(use, now) <= now,
    act: (_, use) => ({ do: "park", why: idleText(use) }),
  }),
  // Something that runs in it does not end.
  row("I7", ["parking"], { when: ({ until }, _, now) => until <= now, act: () => ({ do: "abandon" }) }),
  // A request comes soon after a failed load.
  row("I4", ["failed"], {
    when: (copy, _, now) => isDemanded(copy) && now < copy.until,
    act: ({ error }) => ({ do: "refuse", error }),
  }),
  // A request waits; all that come meanwhile have the same load.
  row("I3", ["failed", "parked"], {
    when: isDemanded,
    act: (copy, use) => ({ do: "load", isAtOnce: isUrgent(copy) || use.isNeeded }),
  }),
  // A load that waits for a place must go on, since a load that has one waits for it.
  row("G3", ["loading"], { when: (copy) => isUrgent(copy) && !copy.isAtOnce, act: () => ({ do: "hurry" }) }),
]);

function isDemanded({ demand }: { readonly demand: Demand }): boolean {
  return demand !== "none";
}

function isUrgent({ demand }: { readonly demand: Demand }): boolean {
  return demand === "at once";
}

/** True if nothing is taken from anyone when it is parked. */
export function isUnused({ isHeld, isCurrent, isPresent }: Use): boolean {
  return !isHeld && isCurrent && isPresent;
}

function idleText({ idleMs }: Use): string {
  return `no request for ${idleMs / 1000} s`;
}

/** The time at which a copy has to be planned again without an event. */
export function wakeOf(copy: Residence, use: Use, now: number): number {
  if (copy.is === "resident") return idleEnd(use, now);
  return copy.is === "parking" ? copy.until : Number.POSITIVE_INFINITY;
}

/** The copy after an event, or once an action has begun. */
export function step(copy: Residence, what: Event | Action, now: number): Residence {
  return "is" in what ? afterEvent(copy, what, now) : afterAction(copy, what, now);
}

/** In use, it is looked at again after the same time. */
function idleEnd(use: Use, now: number): number {
  if (use.idleMs <= 0) return Number.POSITIVE_INFINITY;
  return (isUnused(use) ? use.lastUse : now) + use.idleMs;
}

function afterEvent(copy: Residence, event: Event, now: number): Residence {
  switch (event.is) {
    case "crowded":
      return copy.is === "resident" ? { is: "resident", crowds: event.why } : copy;
    case "freed":
      return copy.is === "parking" ? { is: "parked", demand: copy.demand } : copy;
    case "demanded":
      if (copy.is === "resident" || isUrgent(copy)) return copy;
      return { ...copy, demand: event.isAtOnce ? "at once" : "in turn" };
    case "loaded":
      return { is: "resident" };
    case "failed":
      return { is: "failed", demand: "none", until: now + FAILURE_HOLD_MS, error: event.error };
  }
}

function afterAction(copy: Residence, action: Action, now: number): Residence {
  const demand = copy.is === "resident" ? "none" : copy.demand;
  switch (action.do) {
    case "park":
      return { is: "parking", demand, until: now + RETIRE_MS };
    case "abandon":
      return { is: "parked", demand };
    case "load":
      return { is: "loading", demand, isAtOnce: action.isAtOnce };
    case "hurry":
      return { is: "loading", demand, isAtOnce: true };
    case "stay":
      return { is: "resident" };
    case "refuse":
      return copy.is === "resident" ? copy : { ...copy, demand: "none" };
  }
}

/** Maximum number of characters of a reason that clients get. */
const MAX_TEXT = 1024;

/** The error of a copy that does not load. Not `not_found`, as the reason may be: clients take that for the name's. */
export function notLoaded({ name, version }: CopyName, reason: unknown): ServingError {
  const why = hidePaths(publicText(reason).slice(0, MAX_TEXT));
  const text = `Version ${version} of the model ${name} was unloaded while it was idle, and cannot be loaded again: ${why}`;
  return new ServingError("unavailable", text, { cause: reason });
}

interface CopyName {
  readonly name: string;
  readonly version: bigint;
}

/** The error of a request whose time to wait is over. */
export function waitedTooLong(timeoutMs: number): ServingError {
  const text = `The request waited ${timeoutMs} ms for its model to load, its limit; send it later.`;
  return new ServingError("unavailable", text);
}
