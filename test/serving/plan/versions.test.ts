import { describe, expect, test } from "vitest";
import { labelProblems, planLabels, planVersions } from "../../../src/serving/plan/versions.ts";

/** Versions by their numbers: `3 1`. */
const toVersions = (words: string) => words.split(" ").filter(Boolean).map(BigInt);

/** The actions on the versions of a model that lists `known`, of which those in `served` answer. */
function planned(wanted: string, known: string, served: string, isHeld = false): string {
  const seen = { wanted: toVersions(wanted), known: toVersions(known), served: toVersions(served), isHeld };
  return planVersions(seen)
    .map(({ row, do: what, version }) => `${row} ${what} ${version}`)
    .join(", ");
}

describe("the versions of a model", () => {
  test.each([
    ["first loaded", "2 1", "", "", "V2 aspire 2, V2 aspire 1"],
    ["as they are wanted", "2 1", "2 1", "2 1", "V2 aspire 2, V2 aspire 1"],
    ["replaced by one that loads: what answers stays meanwhile", "2", "2 1", "1", "V2 aspire 2"],
    ["replaced by one that has failed: what answers stays", "2", "2 1", "1", "V2 aspire 2"],
    ["replaced by one that answers", "2", "2 1", "2 1", "V2 aspire 2, V4 drop 1"],
    ["given up before they answered", "2", "2 1", "", "V2 aspire 2, V3 drop 1"],
    ["removed, or unloaded by a client", "", "2 1", "2", "V4 drop 2, V3 drop 1"],
  ])("that are %s (%j of %j, with %j served): %s", (_, wanted, known, served, expected) => {
    expect(planned(wanted, known, served)).toBe(expected);
  });

  test("are left alone while a load on request is about to begin", () => {
    expect(planned("2", "2 1", "2 1", true)).toBe("");
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
    expect(planned("3 1", "3 2 1", "2 1")).toBe("V2 aspire 3, V2 aspire 1, V4 drop 2");
    expect(labelled("stable 1", "stable 1", "2 1")).toBe("stable 1");
  });

  test("which is not wanted any more: 2 and 1 stay until 3 answers, and so does the label, which then means nothing", () => {
    expect(planned("3", "3 2 1", "2 1")).toBe("V2 aspire 3");
    expect(planned("3", "3 2 1", "3 2 1")).toBe("V2 aspire 3, V4 drop 2, V4 drop 1");
    expect(labelled("stable 1", "stable 1", "3")).toBe("stable 1");
  });

  test("to which the label is to move: it stays at 1", () => {
    expect(labelled("stable 3", "stable 1", "2 1")).toBe("stable 1");
  });
});
