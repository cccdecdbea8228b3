import { describe, expect, test } from "vitest";
import {
  afterChangeAction,
  afterChangeEvent,
  type Change,
  type ChangeEvent,
  type ChangeFacts,
  changeWakeOf,
  type Dependent,
  isGivenUp,
  keptOf,
  planChange,
  planHooks,
} from "../../../src/serving/plan/changes.ts";

const NOW = 100_000;

/** Changes by words: `retiring 5s` (left), `retiring 5s, last`, `loading, given up`. */
function toChange(words: string): Change {
  const [is = "", time = "0s"] = words.split(/,? /);
  const until = NOW + 1000 * Number.parseFloat(time);
  const isLast = words.endsWith("last");
  const changes: Readonly<Record<string, Change>> = {
    loading: { is: "loading", isGivenUp: words.includes("given up") },
    yielding: { is: "yielding" },
    outlasting: { is: "outlasting", until },
    retiring: { is: "retiring", until, isLast },
    freeing: { is: "freeing", isLast },
    freed: { is: "freed" },
  };
  return changes[is] ?? { is: "none" };
}

/** One that needs the model, by words; without any, it has loaded other files, which do without that. */
function toDependent(words: string): Dependent {
  const is = (name: string) => words.includes(name);
  return {
    isWanted: !is("needed by last"),
    willNeed: is("as before"),
    isSettled: !is("until replaced"),
    namesVersion: is("version"),
    isRetiring: is("for last requests"),
  };
}

function toFacts(words: string): ChangeFacts {
  const is = (name: string) => words.includes(name);
  return {
    isNew: is("new"),
    wanted: is("wanted") ? { fingerprint: "a" } : undefined,
    begun: { fingerprint: is("equal") ? "a" : "b" },
    isLoading: is("being loaded"),
    isServed: is("served"),
    isStale: is("stale"),
    isHeld: is("held"),
    dependents: is("needed") ? [toDependent(words)] : [],
  };
}

describe("a version", () => {
  test.each([
    ["none", "wanted, served", "wait"],
    ["none", "new, wanted", "C1 load"],
    ["none", "new, wanted, served, needed, stale", "C1 load"],
    ["none", "new, needed", "C2 end"],
    ["none", "new, served, needed", "C3 yield"],
    ["none", "new, served", "C4 retire"],
    ["none", "wanted, served, stale", "C5 renew"],
    ["none", "served, stale", "wait"],
    ["loading", "wanted, served, stale", "wait"],
    ["loading", "wanted", "wait"],
    ["loading", "new, wanted, equal, being loaded", "wait"],
    ["loading", "new, wanted, equal", "C6 give up"],
    ["loading", "new, wanted, being loaded", "C6 give up"],
    ["loading", "new, being loaded", "C6 give up"],
    ["loading, given up", "new, wanted", "wait"],
    ["yielding", "served, needed until replaced", "wait"],
    ["yielding", "new, wanted, served, needed until replaced", "C7 stay"],
    ["yielding", "served, needed for last requests", "wait"],
    ["yielding", "served, needed until replaced by a version as before", "wait"],
    ["yielding", "served, needed until replaced as before", "C8 outlast"],
    ["yielding", "served, needed by last until replaced", "C8 outlast"],
    ["yielding", "served, needed", "C8 outlast"],
    ["outlasting 5s", "served, needed by last", "wait"],
    ["outlasting 5s", "new, served, needed by last", "C7 stay"],
    ["outlasting 5s", "served, needed", "C9 retire"],
    ["outlasting 0s", "served, needed by last", "C9 retire"],
    ["retiring 5s", "held", "wait"],
    ["retiring 5s", "new, wanted, held", "wait"],
    ["retiring 5s", "", "C10 free"],
    ["retiring 0s", "held", "C10 free"],
    ["freeing", "new, wanted", "wait"],
    ["freed", "new, wanted", "C11 end"],
  ])("that is %s, with %j: %s", (words, facts, expected) => {
    const action = planChange(toChange(words), toFacts(facts), NOW);
    expect(action === undefined ? "wait" : `${action.row} ${action.do}`).toBe(expected);
  });
});

/** A version through its events, and the actions between them. */
function follow(steps: readonly (readonly [facts: string, event?: ChangeEvent])[]): readonly string[] {
  let change: Change = { is: "none" };
  return steps.flatMap(([facts, event]) => {
    if (event !== undefined) change = afterChangeEvent(change, event, NOW);
    const action = planChange(change, toFacts(facts), NOW);
    if (action !== undefined) change = afterChangeAction(change, action, NOW);
    return `${action?.do ?? "wait"}: ${change.is}${changeWakeOf(change) === NOW + 25_000 ? ", 25 s" : ""}`;
  });
}

test("a change goes from its decision to its end, and the next begins then", () => {
  const loaded = { is: "loaded", hasFormer: true } as const;
  expect(
    follow([
      ["new, wanted, served"],
      ["new, wanted, served"],
      ["new, held", loaded],
      ["new"],
      ["new, wanted, served", { is: "freed" }],
      ["wanted, served", { is: "loaded", hasFormer: false }],
      ["wanted, served, stale"],
      ["new, wanted, served, stale"],
    ]),
  ).toEqual([
    "load: loading",
    "give up: loading",
    "wait: retiring, 25 s",
    "free: freeing",
    "load: loading",
    "wait: none",
    "renew: none",
    "load: loading",
  ]);
  expect(
    follow([
      ["new, served, needed"],
      ["served, needed by last"],
      ["served, needed by last"],
      ["served"],
      ["held"],
      [""],
      ["new, wanted", { is: "freed" }],
      ["new, wanted"],
    ]),
  ).toEqual([
    "yield: yielding",
    "outlast: outlasting, 25 s",
    "wait: outlasting, 25 s",
    "retire: retiring, 25 s",
    "wait: retiring, 25 s",
    "free: freeing",
    "end: none",
    "load: loading",
  ]);
});

describe("what answers, and other files", () => {
  const files = { a1: toPrint("a", 1), a2: toPrint("a", 2), b1: toPrint("b", 1), plain: { fingerprint: "plain" } };

  test.each([
    ["a1", "a1", "", "all"],
    ["plain", "plain", "", "all"],
    ["a1", "a1", "ordered", "nothing"],
    ["a1", "a1", "in doubt, with hooks", "model"],
    ["plain", "plain", "in doubt, with hooks", "nothing"],
    ["a2", "a1", "with hooks", "model"],
    ["a2", "a1", "with hooks, ordered", "nothing"],
    ["a2", "a1", "", "nothing"],
    ["b1", "a1", "with hooks", "nothing"],
    ["plain", "a1", "with hooks", "nothing"],
  ] as const)("%s, where %s answers %s: %s stays", (wanted, served, words, expected) => {
    const is = { isOrdered: words.includes("ordered"), isInDoubt: words.includes("doubt") };
    const seen = { wanted: files[wanted], served: files[served], hasHooks: words.includes("hooks"), ...is };
    expect(keptOf(seen)).toBe(expected);
    expect(keptOf({ ...seen, served: undefined })).toBe("nothing");
  });
});

test("who waits for a load hears that it was given up once nothing is wanted, and else waits on", () => {
  const files = toPrint("a", 1);
  expect(isGivenUp(files, undefined)).toBe(true);
  for (const [one, next] of [
    [files, files],
    [undefined, files],
    [undefined, undefined],
  ] as const)
    expect(isGivenUp(one, next)).toBe(false);
});

/** The files of a model with one of its hook files. */
function toPrint(modelFingerprint: string, hooks: number) {
  return { fingerprint: `${modelFingerprint}${hooks}`, modelFingerprint };
}

describe("hooks that are wanted to be read again", () => {
  const wishes = { asked: { is: "asked", since: NOW }, replaced: { is: "replaced" } } as const;
  const failed = { is: "failed", reason: "no file" } as const;

  test.each([
    ["asked", "loading, read before, a file", "C12 await the load"],
    ["asked", "read before, a file", "C14 replace"],
    ["asked", "read since, a file", "C13 keep"],
    ["asked", "read before", "C13 keep"],
    ["replaced", "current", "C15 reach"],
    ["replaced", "loading", "C16 keep"],
    ["failed", "current", "C17 refuse, and tell"],
    ["failed", "", "C17 refuse"],
  ] as const)("which are %s, with %j: %s", (is, words, expected) => {
    const facts = {
      isLoading: words.includes("loading"),
      readAt: words.includes("since") ? NOW : NOW - 1,
      hasFile: words.includes("file"),
      isCurrent: words.includes("current"),
    };
    const action = planHooks(is === "failed" ? failed : wishes[is], facts, NOW);
    const isTold = action?.do === "refuse" && action.isTold;
    expect(`${action?.row} ${action?.do}${isTold ? ", and tell" : ""}`).toBe(expected);
  });
});
