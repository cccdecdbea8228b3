import { describe, expect, test } from "vitest";
import {
  labelProblems,
  planForgotten,
  planLabels,
  planModels,
  planRequest,
  planUnload,
  planVersions,
} from "../../../src/serving/plan/versions.ts";

/** Versions by their numbers: `3 1`. */
const toVersions = (words: string) => words.split(" ").filter(Boolean).map(BigInt);

/** Versions with their files by words: `3b 1a` are wanted, or known: `2a` should be loaded, `2` not, `2a!` answers. */
const toFiles = (words: string) =>
  [...words.matchAll(/(\d+)([a-z]?)(!?)/g)].map(([, version = "0", fingerprint = "", mark]) => {
    const aspired = fingerprint === "" ? undefined : { fingerprint };
    const isEnded = aspired === undefined && mark === "";
    return { version: BigInt(version), fingerprint, aspired, isServed: mark === "!", isEnded };
  });

/** The actions on the versions of a model. */
function planned(wanted: string, known: string, { isHeld = false, isUnloaded = false } = {}): string {
  return planVersions({ wanted: toFiles(wanted), known: toFiles(known), isHeld, isUnloaded })
    .map(({ row, do: what, version }) => `${row} ${what} ${version}`)
    .join(", ");
}

describe("the versions of a model", () => {
  test.each([
    ["first loaded", "2a 1a", "", "V2 aspire 2, V2 aspire 1"],
    ["as they are wanted", "2a 1a", "2a! 1a!", "V5 describe 2, V5 describe 1"],
    ["loading or failed with the files that are wanted", "2a", "2a", "V5 describe 2"],
    ["edited", "2b 1a", "2a! 1a!", "V2 aspire 2, V5 describe 1"],
    ["wanted again while they end", "2a", "2!", "V2 aspire 2"],
    ["replaced by one that loads, or has failed: what answers stays", "2a", "2a 1a!", "V5 describe 2"],
    ["replaced by one that answers", "2a", "2a! 1a!", "V5 describe 2, V4 drop 1"],
    ["replaced by one that answers with its former files", "2b", "2a! 1a!", "V2 aspire 2, V4 drop 1"],
    ["given up before they answered", "2a", "2a 1a", "V5 describe 2, V3 drop 1"],
    ["removed", "", "2a! 1a", "V4 drop 2, V3 drop 1"],
    ["going already", "", "2! 1", ""],
  ])("that are %s (%j, known %j): %s", (_, wanted, known, expected) => {
    expect(planned(wanted, known)).toBe(expected);
  });

  test("go once a client has unloaded the model, whatever is wanted", () => {
    expect(planned("2a 1a", "2a! 1a", { isUnloaded: true })).toBe("V4 drop 2, V3 drop 1");
  });

  test("are left alone while a load on request is about to begin, unless none is wanted", () => {
    expect(planned("2a", "2a! 1a!", { isHeld: true })).toBe("");
    expect(planned("", "2a!", { isHeld: true })).toBe("V4 drop 2");
  });
});

test("versions that have ended are listed, the highest ten of those that are not wanted", () => {
  const known = toFiles("15 14a! 13 12 11a 10 9 8! 7 6 5 4 3 2 1");
  expect(planForgotten({ wanted: toFiles("1a"), known })).toEqual([2n]);
  expect(planForgotten({ wanted: [], known })).toEqual([2n, 1n]);
});

describe("the models of a server", () => {
  test.each([
    ["a b", "", "M2 aspire a, M2 aspire b"],
    ["b c", "a b", "M1 drop a, M2 aspire b, M2 aspire c"],
    ["last a", "last b", "M1 drop b, M2 aspire a, M3 aspire last"],
    ["", "a last", "M1 drop a, M1 drop last"],
  ])("of which %j are wanted, and %j known: %s", (wanted, known, expected) => {
    const toNames = (words: string) => words.split(" ").filter(Boolean);
    const actions = planModels({ wanted: toNames(wanted), known: toNames(known), last: "last" });
    expect(actions.map(({ row, do: what, name }) => `${row} ${what} ${name}`).join(", ")).toBe(expected);
  });
});

describe("a model that a client unloads together with what needs it", () => {
  /** Models by words: `chain:a,b` needs a and b; `(a)` was loaded for others alone. */
  const toModels = (words: string) =>
    words.split(" ").map((word) => {
      const [name = "", needs = ""] = word.split(":");
      const isDependencyOnly = name.startsWith("(");
      return { name: name.replaceAll(/[()]/g, ""), needs: new Set(needs.split(",")), isDependencyOnly };
    });

  test.each([
    ["a", "a b", "U2 a"],
    ["a", "a chain:a tower:chain", "U1 tower, U1 chain, U2 a"],
    ["a", "a chain:a tower:a,chain", "U1 tower, U1 chain, U2 a"],
    ["chain", "(a) b chain:a,b", "U2 chain, U3 a"],
    ["tower", "(a) (chain):a tower:chain", "U2 tower, U3 chain, U3 a"],
    ["chain", "(a) chain:a other:a", "U2 chain"],
    ["a", "a (b) chain:a,b", "U1 chain, U3 b, U2 a"],
  ])("%s, of %j: %s", (name, words, expected) => {
    expect([...planUnload(name, toModels(words))].map(([one, row]) => `${row} ${one}`).join(", ")).toBe(expected);
  });
});

describe("a model that a client loads", () => {
  const steps = (isKnown: boolean, unloaded: string, begun: string) => {
    const toNames = (words: string) => words.split(" ").filter(Boolean);
    return planRequest({ isKnown, unloadedNeeds: toNames(unloaded), begun: toNames(begun) });
  };

  test("is looked for first, since its files say what it needs", () => {
    expect(steps(false, "", "")).toEqual({ row: "U4", do: "look" });
  });

  test("comes after each model that it needs and that clients have unloaded, even if one is unloaded again meanwhile", () => {
    expect(steps(true, "a b", "")).toEqual({ row: "U5", do: "load first", name: "a" });
    expect(steps(true, "a b", "a")).toEqual({ row: "U5", do: "load first", name: "b" });
    expect(steps(true, "a", "a b")).toEqual({ row: "U6", do: "load" });
    expect(steps(true, "", "")).toEqual({ row: "U6", do: "load" });
  });
});

/** Labels by words: `stable 1, canary 3`. */
const toLabels = (words: string) =>
  [...words.matchAll(/(\w+) (\d+)/g)].map(([, label = "", version = "0"]) => [label, BigInt(version)] as const);

function labelled(wanted: string, assigned: string, served: string, allowUnavailable = false): string {
  const seen = { wanted: Object.fromEntries(toLabels(wanted)), assigned: new Map(toLabels(assigned)) };
  const labels = planLabels({ ...seen, served: toVersions(served), allowUnavailable });
  return [...labels].map(([label, version]) => `${label} ${version}`).join(", ");
}

describe("the labels of a model", () => {
  test.each([
    ["stable 1", "", "1", "stable 1"],
    ["stable 1", "", "", ""],
    ["stable 2", "stable 1", "1", "stable 1"],
    ["stable 2", "stable 1", "2 1", "stable 2"],
    ["stable 2", "stable 1, canary 1", "1", "stable 1"],
    ["stable 1", "stable 1", "", "stable 1"],
  ])("that should be %j and are %j, with %j served: %j", (wanted, assigned, served, expected) => {
    expect(labelled(wanted, assigned, served)).toBe(expected);
  });

  test("may mean what does not answer where that is allowed", () => {
    expect(labelled("stable 2", "stable 1", "1", true)).toBe("stable 2");
  });

  test("that could not be assigned have TensorFlow Serving's text", () => {
    expect(labelProblems("m", { wanted: { stable: 2n, canary: 1n }, assigned: new Map([["canary", 1n]]) })).toEqual([
      'Request to assign label "stable" to version 2 of model m, which is not currently available for inference',
    ]);
  });
});

describe("version 3 fails to load while 2 is served, and a label means 1", () => {
  test("which is wanted and answers: 2 goes, requests go to 1, and 3 is tried again as any load", () => {
    expect(planned("3a 1a", "3a 2a! 1a!")).toBe("V5 describe 3, V5 describe 1, V4 drop 2");
    expect(labelled("stable 1", "stable 1", "2 1")).toBe("stable 1");
  });

  test("which is not wanted any more: 2 and 1 stay until 3 answers, and so does the label, which then means nothing", () => {
    expect(planned("3a", "3a 2a! 1a!")).toBe("V5 describe 3");
    expect(planned("3a", "3a! 2a! 1a!")).toBe("V5 describe 3, V4 drop 2, V4 drop 1");
    expect(labelled("stable 1", "stable 1", "3")).toBe("stable 1");
  });

  test("to which the label is to move: it stays at 1", () => {
    expect(labelled("stable 3", "stable 1", "2 1")).toBe("stable 1");
  });
});
