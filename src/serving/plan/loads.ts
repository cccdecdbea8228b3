import { type ErrorCode, ServingError } from "../../errors.ts";
import type { Kept } from "./changes.ts";
import { firstOf, type InRow, rowsFor } from "./table.ts";

/** One load of a version: from its order through its tries to its end. */
export interface Load {
  readonly at: Stage;
  readonly limits: LoadLimits;
  /** Further tries after one that fails. */
  readonly triesLeft: number;
  /** The next pause between two tries, in milliseconds. */
  readonly pauseMs: number;
  /** True if it takes no place of the loads that run at once. */
  readonly isAtOnce: boolean;
  /** The reason why it is not wanted any more. */
  readonly cancelled?: { readonly reason: unknown };
}

/** Limits of one load, its text's version among them. */
export interface LoadLimits {
  readonly version: bigint;
  /** Maximum time of a try, in milliseconds; 0 = none. */
  readonly timeoutMs: number;
  /** Further tries after the first has failed. */
  readonly retries: number;
  /** The longest pause between two tries, in milliseconds. */
  readonly maxPauseMs: number;
}

/** The point that a load has reached. */
type Stage =
  /** A try begins, or goes on `after` a step of its preparation. */
  | { readonly is: "due"; readonly after?: Step | "needs" }
  /** It waits for the models that its stages name. `until`: when that is late; `told`: what was told of it last. */
  | { readonly is: "needing"; readonly until: number; readonly isLate: boolean; readonly told?: string }
  | { readonly is: "preparing"; readonly step: Step }
  /** It waits for its place. */
  | { readonly is: "queued" }
  /** `until`: when it is given up. */
  | { readonly is: "loading"; readonly hasPlace: boolean; readonly until: number }
  /** It was given up, and ends; `until`: when others do not wait for that any more. */
  | { readonly is: "leaving"; readonly hasPlace: boolean; readonly until: number; readonly reason: unknown }
  | { readonly is: "loaded" }
  /** `isFree`: that was no try. */
  | { readonly is: "failed"; readonly reason: unknown; readonly isFree: boolean }
  /** `until`: when it is tried again. */
  | { readonly is: "resting"; readonly until: number }
  | { readonly is: "over" };

/** A step before the files are loaded: `hooks` are replaced alone, and nothing is left to load; `files` are fetched. */
export type Step = "hooks" | "files";

/** A model that cannot answer, though a stage names it. */
export interface Lack {
  /** Says so to someone who hears of every model. */
  readonly text: string;
  /** True if no load that runs will change that. */
  readonly isSettled: boolean;
}

/** Everything outside a load that decides about it, looked at just before it is planned. */
export interface LoadFacts {
  readonly kept: Kept;
  /** True if its stages name other models. */
  readonly hasNeeds: boolean;
  /** One of them that cannot answer. */
  readonly lack?: Lack | undefined;
  /** True if its files have to be fetched. */
  readonly isFetched: boolean;
  /** False if other files are wanted by now, so that it does not begin, and is not tried again. */
  readonly isWanted: boolean;
  /** True if there is a place, and no other load has waited longer. */
  readonly hasTurn: boolean;
}

/** Something that has happened to a load. */
export type LoadEvent =
  | { readonly is: "prepared" }
  | { readonly is: "loaded" }
  | { readonly is: "failed"; readonly reason: unknown }
  /** One that was given up has ended. */
  | { readonly is: "ended" }
  | { readonly is: "cancelled"; readonly reason: unknown }
  | { readonly is: "hurried" };

/** Something to be done with a load. */
type Deed =
  | { readonly do: "prepare"; readonly step: Step }
  /** `keep`: it ends, since nothing is to be done. */
  | { readonly do: "keep" | "queue" | "try again" | "let go" | "serve" }
  /** `look for needs`: not before others that are ordered together with it are queued. */
  | { readonly do: "look for needs" | "need longer" | "go on" }
  | ({ readonly do: "tell" } & Problem)
  | { readonly do: "load"; readonly hasPlace: boolean }
  | { readonly do: "give up"; readonly reason: unknown }
  /** Ends it without a word. */
  | { readonly do: "end"; readonly reason: unknown }
  /** `isLast`: it ends, too, be it that it would be tried again if its files were still wanted. */
  | { readonly do: "fail"; readonly reason: unknown; readonly isTriedAgain: boolean; readonly isLast: boolean };

/** The reason why a load waits for other models. */
export interface Problem {
  readonly code: ErrorCode;
  readonly text: string;
  /** The end of the text, which does not name the model. */
  readonly end: string;
}

/** Something to be done with a load, and the row that says so. */
export type LoadAction = InRow<Deed>;

/** The shortest pause before a further try, in milliseconds. */
const FIRST_PAUSE_MS = 1000;
/** Time that a load which is given up gets to end before its place is free, in milliseconds. */
const GRACE_MS = 1000;

type Needing = Extract<Stage, { readonly is: "needing" }>;

/** The rows look at a load's stage, and at the rest of it beside the facts. */
const row = rowsFor<Stage, Omit<Load, "at"> & LoadFacts, Deed>();

/** The table. A wait has no row; {@link loadWakeOf} knows its end. */
const plan = firstOf([
  // It is not wanted any more. Its preparation ends of itself; once loaded it serves, and is replaced after that.
  row("L1", ["due", "needing", "queued", "resting", "failed"], {
    when: (_, { cancelled }) => cancelled !== undefined,
    act: (_, { cancelled }) => ({ do: "end", reason: cancelled?.reason }),
  }),
  // Other files are by now, and it has no place yet.
  row("L1", ["due", "needing", "queued"], {
    when: (_, { isWanted }) => !isWanted,
    act: () => ({ do: "end", reason: notWanted() }),
  }),
  row("L1", ["loading"], {
    when: (_, { cancelled }) => cancelled !== undefined,
    act: (_, { cancelled }) => ({ do: "give up", reason: cancelled?.reason }),
  }),
  // Something else was wanted meanwhile, and has not begun.
  row("L0", ["due"], {
    when: ({ after }, { kept }) => after === undefined && kept === "all",
    act: () => ({ do: "keep" }),
  }),
  // The model stays, whatever it needs, and takes no place.
  row("L2", ["due"], {
    when: ({ after }, { kept }) => after === undefined && kept === "model",
    act: () => ({ do: "prepare", step: "hooks" }),
  }),
  // Before it takes a place, which the models that it needs have to have too.
  row("L3", ["due"], {
    when: ({ after }, { hasNeeds }) => after === undefined && hasNeeds,
    act: () => ({ do: "look for needs" }),
  }),
  row("N1", ["needing"], { when: (_, { lack }) => lack === undefined, act: () => ({ do: "go on" }) }),
  row("N2", ["needing"], { when: ({ until }, _, now) => until <= now, act: () => ({ do: "need longer" }) }),
  // No load will help, or it takes long: each reason is told once, and it waits on.
  row("N3", ["needing"], {
    when: (needing, load) => isNews(needing, problemOf(needing, load)),
    act: (needing, load) => ({ do: "tell", ...(problemOf(needing, load) as Problem) }),
  }),
  row("L4", ["due"], {
    when: ({ after }, { isFetched }) => after !== "files" && isFetched,
    act: () => ({ do: "prepare", step: "files" }),
  }),
  row("L5", ["due"], { act: () => ({ do: "queue" }) }),
  // A load that has a place waits for it.
  row("G1", ["queued"], { when: (_, { isAtOnce }) => isAtOnce, act: () => ({ do: "load", hasPlace: false }) }),
  row("G2", ["queued"], { when: (_, { hasTurn }) => hasTurn, act: () => ({ do: "load", hasPlace: true }) }),
  row("L6", ["loading"], {
    when: ({ until }, _, now) => until <= now,
    act: (_, { limits }) => ({ do: "give up", reason: tooLong(limits) }),
  }),
  // It does not end. It may run on, as native code does, and is closed if it comes to an end.
  row("L7", ["leaving"], { when: ({ until }, _, now) => until <= now, act: () => ({ do: "let go" }) }),
  row("L8", ["loaded"], { act: () => ({ do: "serve" }) }),
  row("L9", ["failed"], {
    when: (_, { triesLeft, isWanted }) => triesLeft === 0 || !isWanted,
    act: ({ reason }, { triesLeft }) => ({ do: "fail", reason, isTriedAgain: triesLeft > 0, isLast: true }),
  }),
  row("L10", ["failed"], {
    act: ({ reason }) => ({ do: "fail", reason, isTriedAgain: true, isLast: false }),
  }),
  row("L11", ["resting"], { when: ({ until }, _, now) => until <= now, act: () => ({ do: "try again" }) }),
]);

/** A load that has just been ordered. */
export function orderLoad(limits: LoadLimits, isAtOnce = false): Load {
  const pauseMs = Math.min(FIRST_PAUSE_MS, limits.maxPauseMs);
  return { at: { is: "due" }, limits, triesLeft: limits.retries, pauseMs, isAtOnce };
}

/** The action that a load needs now; undefined = none until {@link loadWakeOf}, or an event. */
export function planLoad({ at, ...load }: Load, facts: LoadFacts, now: number): LoadAction | undefined {
  return plan(at, { ...load, ...facts }, now);
}

/** The time at which a load has to be planned again without an event. */
export function loadWakeOf({ at }: Load): number {
  return "until" in at ? at.until : Number.POSITIVE_INFINITY;
}

/** True while it has one of the places of the loads that run at once. */
export function hasPlace({ at }: Load): boolean {
  return "hasPlace" in at && at.hasPlace;
}

/** The load after an event. One that comes too late changes nothing. */
export function afterEvent(load: Load, event: LoadEvent): Load {
  const { at } = load;
  switch (event.is) {
    case "cancelled":
      return { ...load, cancelled: { reason: event.reason } };
    case "hurried":
      return { ...load, isAtOnce: true };
    case "prepared":
      if (at.is !== "preparing") return load;
      return { ...load, at: at.step === "hooks" ? { is: "loaded" } : { is: "due", after: at.step } };
    case "loaded":
      return at.is === "loading" ? { ...load, at: { is: "loaded" } } : load;
    case "failed":
      if (at.is !== "preparing" && at.is !== "loading") return load;
      // A download is tried as long as its version is wanted: networks come back.
      return {
        ...load,
        at: { is: "failed", reason: event.reason, isFree: at.is === "preparing" && at.step === "files" },
      };
    case "ended":
      return at.is === "leaving" ? { ...load, at: { is: "failed", reason: at.reason, isFree: false } } : load;
  }
}

/** The load once an action has begun. */
export function afterAction(load: Load, action: LoadAction, now: number): Load {
  switch (action.do) {
    case "prepare":
      return { ...load, at: { is: "preparing", step: action.step } };
    case "look for needs":
      return { ...load, at: { is: "needing", until: endOf(load, now), isLate: false } };
    case "need longer":
      return { ...load, at: { ...load.at, is: "needing", until: Number.POSITIVE_INFINITY, isLate: true } };
    case "tell":
      return load.at.is === "needing" ? { ...load, at: { ...load.at, told: action.text } } : load;
    case "go on":
      return { ...load, at: { is: "due", after: "needs" } };
    case "queue":
      return { ...load, at: { is: "queued" } };
    case "load":
      return { ...load, at: { is: "loading", hasPlace: action.hasPlace, until: endOf(load, now) } };
    case "give up":
      return { ...load, at: { is: "leaving", hasPlace: hasPlace(load), until: now + GRACE_MS, reason: action.reason } };
    case "let go":
      return afterEvent(load, { is: "ended" });
    case "try again":
      return { ...load, at: { is: "due" } };
    case "fail":
      return action.isLast ? { ...load, at: { is: "over" } } : rest(load, now);
    case "keep":
    case "serve":
    case "end":
      return { ...load, at: { is: "over" } };
  }
}

function problemOf({ isLate }: Needing, { lack, limits }: LoadFacts & Pick<Load, "limits">): Problem | undefined {
  if (lack === undefined || lack.isSettled) return lack && { code: "unavailable", text: lack.text, end: "" };
  const end = ` It was waited for ${limits.timeoutMs} ms (--load-timeout), and is waited for further.`;
  return isLate ? { code: "deadline_exceeded", text: lack.text + end, end } : undefined;
}

function isNews({ told }: Needing, problem: Problem | undefined): boolean {
  return problem !== undefined && problem.text !== told;
}

function endOf({ limits: { timeoutMs } }: Load, now: number): number {
  return timeoutMs > 0 ? now + timeoutMs : Number.POSITIVE_INFINITY;
}

function rest(load: Load, now: number): Load {
  const { at, limits, pauseMs } = load;
  const triesLeft = at.is === "failed" && at.isFree ? load.triesLeft : load.triesLeft - 1;
  return {
    ...load,
    at: { is: "resting", until: now + pauseMs },
    triesLeft,
    pauseMs: Math.min(2 * pauseMs, limits.maxPauseMs),
  };
}

function notWanted(): ServingError {
  return new ServingError("unavailable", "other files have replaced these, and no request waits for them any more");
}

function tooLong({ version, timeoutMs }: LoadLimits): ServingError {
  const message = `Version ${version} has not loaded within ${timeoutMs} ms (--load-timeout), and is given up.`;
  return new ServingError("deadline_exceeded", message);
}
