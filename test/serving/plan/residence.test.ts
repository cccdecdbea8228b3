import { describe, expect, test } from "vitest";
import { ServingError } from "../../../src/errors.ts";
import {
  type Action,
  type Demand,
  type Event,
  plan,
  RETIRE_MS,
  type Residence,
  step,
  type Use,
  wakeOf,
} from "../../../src/serving/plan/residence.ts";

const NOW = 100_000;
const BROKEN = new ServingError("unavailable", "no file");
const UNUSED: Use = { idleMs: 0, isHeld: false, isCurrent: true, isPresent: true, isNeeded: false, lastUse: NOW };

/** Copies by their words: `resident`, `crowded`, `parking 5s` (left), `parked`, `failed -1s` (until), `loading`. */
function toCopy(words: string): Residence {
  const [is = "", time = "0s"] = words.split(" ");
  const demand: Demand = words.includes("at once") ? "at once" : words.includes("demand") ? "in turn" : "none";
  const until = NOW + 1000 * Number.parseFloat(time);
  if (is === "resident") return { is };
  if (is === "crowded") return { is: "resident", crowds: "others need its memory" };
  if (is === "parking") return { is, until, demand };
  if (is === "failed") return { is, demand, until, error: BROKEN };
  return is === "loading" ? { is, demand, isAtOnce: words.includes("without a place") } : { is: "parked", demand };
}

/** Its use by words: `idle 5s used -6s held replaced gone needed by others`. */
function toUse(words: string): Use {
  const seconds = (name: string) => 1000 * Number(new RegExp(`${name} (-?[\\d.]+)s`).exec(words)?.[1] ?? 0);
  return {
    ...{ idleMs: seconds("idle"), lastUse: NOW + seconds("used") },
    ...{ isHeld: words.includes("held"), isNeeded: words.includes("needed by others") },
    ...{ isCurrent: !words.includes("replaced"), isPresent: !words.includes("gone") },
  };
}

function toText(action: Action | undefined): string {
  if (action === undefined) return "";
  const { row, do: what } = action;
  if (what === "park") return `${row} ${what}: ${action.why}`;
  if (what === "refuse") return `${row} ${what}: ${action.error.message}`;
  return what === "load" && action.isAtOnce ? `${row} ${what} at once` : `${row} ${what}`;
}

/** An action, or nothing and the number of seconds until the copy is planned again. */
function planned(copy: Residence, use: Use): string {
  const wakeMs = wakeOf(copy, use, NOW) - NOW;
  return toText(plan(copy, use, NOW)) || (Number.isFinite(wakeMs) ? `wait ${wakeMs / 1000}s` : "wait");
}

describe("a copy in memory", () => {
  test.each([
    ["resident", "", "wait"],
    ["resident", "idle 5s used -5s", "I1 park: no request for 5 s"],
    ["resident", "idle 0.1s used -6s", "I1 park: no request for 0.1 s"],
    ["resident", "idle 5s used -4s", "wait 1s"],
    ["resident", "idle 5s used -6s held", "wait 5s"],
    ["resident", "idle 5s used -6s replaced", "wait 5s"],
    ["resident", "idle 5s used -6s gone", "wait 5s"],
    ["crowded", "gone", "I2 stay"],
    ["crowded", "", "I2 park: others need its memory"],
    ["crowded", "held", "I2 stay"],
    ["crowded", "idle 5s used -6s held", "I2 stay"],
    ["crowded", "idle 5s used -6s replaced", "I2 stay"],
  ])("that is %s, with %j: %s", (copy, use, expected) => {
    expect(planned(toCopy(copy), toUse(use))).toBe(expected);
  });
});

describe("a copy without memory", () => {
  test.each([
    ["parking 5s", "wait 5s"],
    ["parking 5s demand at once", "wait 5s"],
    ["parking 0s", "I7 abandon"],
    ["parked", "wait"],
    ["parked demand", "I3 load"],
    ["parked demand at once", "I3 load at once"],
    ["failed 0.5s", "wait"],
    ["failed 0.5s demand", "I4 refuse: no file"],
    ["failed 0.5s demand at once", "I4 refuse: no file"],
    ["failed 0s demand", "I3 load"],
    ["loading demand", "wait"],
    ["loading demand at once", "G3 hurry"],
    ["loading demand at once without a place", "wait"],
  ])("that is %s: %s", (copy, expected) => {
    expect(planned(toCopy(copy), toUse("idle 5s used -9s"))).toBe(expected);
  });
});

/** One that a pipeline of another model needs is unloaded by the rows that unload any: the next request loads it. */
describe("an idle copy that other models need", () => {
  test.each([
    ["resident", "idle 5s used -5s needed by others", "I1 park: no request for 5 s"],
    ["crowded", "needed by others", "I2 park: others need its memory"],
    ["resident", "idle 5s used -6s needed by others held", "wait 5s"],
    ["parked demand", "needed by others", "I3 load at once"],
    ["failed 0s demand", "needed by others", "I3 load at once"],
  ])("that is %s, with %j: %s", (copy, use, expected) => {
    expect(planned(toCopy(copy), toUse(use))).toBe(expected);
  });
});

/** Follows a copy through events, with all actions after each of them. */
function follow(start: string, ...events: readonly Event[]): { readonly copy: Residence; readonly done: string[] } {
  let copy = toCopy(start);
  const done: string[] = [];
  for (const event of events) {
    copy = step(copy, event, NOW);
    for (let action = plan(copy, UNUSED, NOW); action !== undefined; action = plan(copy, UNUSED, NOW)) {
      done.push(toText(action));
      copy = step(copy, action, NOW);
    }
  }
  return { copy, done };
}

const demanded = (isAtOnce = false): Event => ({ is: "demanded", isAtOnce });
const crowded: Event = { is: "crowded", why: "others need its memory" };
const failed: Event = { is: "failed", error: BROKEN };

describe("what follows from events", () => {
  test("a request that comes while memory is given back waits for that, and then for one load", () => {
    const { copy, done } = follow("resident", crowded, demanded(), demanded(), { is: "freed" });
    expect(done).toEqual(["I2 park: others need its memory", "I3 load"]);
    expect(copy).toEqual({ is: "loading", demand: "in turn", isAtOnce: false });
    expect(step(copy, { is: "loaded" }, NOW)).toEqual({ is: "resident" });
  });

  test("a request that is part of a load takes a place from nobody, whenever it comes", () => {
    expect(follow("parked", demanded(), demanded(true)).done).toEqual(["I3 load", "G3 hurry"]);
    expect(follow("parking 5s", demanded(), demanded(true), demanded(), { is: "freed" }).done).toEqual([
      "I3 load at once",
    ]);
  });

  test("requests after a failed load get its reason for a second, and none is left waiting", () => {
    const { copy, done } = follow("parked", demanded(), failed, demanded(), demanded(true));
    expect(done).toEqual(["I3 load", "I4 refuse: no file", "I4 refuse: no file"]);
    expect(copy).toEqual({ is: "failed", demand: "none", until: NOW + 1000, error: BROKEN });
    expect(toText(plan(step(copy, demanded(), NOW + 1000), UNUSED, NOW + 1000))).toBe("I3 load");
  });

  test("what does not give its memory back is loaded beside that after a while", () => {
    const copy = step(follow("resident", crowded).copy, demanded(), NOW);
    expect(plan(copy, UNUSED, NOW + RETIRE_MS - 1)).toBeUndefined();
    const given = step(copy, { row: "I7", do: "abandon" }, NOW);
    expect(toText(plan(given, UNUSED, NOW))).toBe("I3 load");
    expect(step(toCopy("resident"), { is: "freed" }, NOW)).toEqual(toCopy("resident"));
  });

  test("a copy that is in use gives no memory, and owes none once it is idle", () => {
    const copy = step(toCopy("crowded"), { row: "I2", do: "stay" }, NOW);
    expect(copy).toEqual(toCopy("resident"));
    expect(plan(copy, UNUSED, NOW)).toBeUndefined();
  });

  test("a copy that is not in memory gives none, and one in memory needs no load", () => {
    for (const words of ["parking 5s", "parked", "loading demand"]) expect(follow(words, crowded).done).toEqual([]);
    expect(follow("resident", demanded()).done).toEqual([]);
  });
});

test("whatever the state and the use, a few actions later there is nothing to do but wait", () => {
  const copies = ["resident", "crowded", "parking 5s", "parking 0s", "parked", "failed 1s", "failed 0s", "loading"];
  const uses = ["", "idle 5s used -6s", "idle 5s used -4s", "idle 5s used -6s held", "idle 5s used -6s replaced"];
  for (const words of copies.flatMap((each) => [each, `${each} demand`, `${each} demand at once`])) {
    for (const use of uses.map(toUse)) {
      let copy = Object.freeze(toCopy(words));
      for (let action = plan(copy, use, NOW), left = 3; action !== undefined; action = plan(copy, use, NOW), left--) {
        expect(left).toBeGreaterThan(0);
        copy = Object.freeze(step(copy, action, NOW));
      }
      expect(wakeOf(copy, use, NOW)).toBeGreaterThan(NOW);
    }
  }
});
