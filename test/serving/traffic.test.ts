import { describe, expect, it } from "vitest";
import { chooseTarget, type Split, type TrafficTarget, targetText, trafficText } from "../../src/serving/traffic.ts";

const targets = [
  { version: 1n, weight: 90 },
  { version: 2n, weight: 10 },
];
const all = (_: TrafficTarget) => true;
const by = (value: string) => ({ metadata: { "x-user": value } });
const users = Array.from({ length: 4000 }, (_, index) => `user-${index}`);

function choose(split: Split, isAvailable = all, request = by("anyone")): string {
  const target = chooseTarget(split, isAvailable, request);
  return target === undefined ? "" : targetText(target);
}

describe("a split", () => {
  it("follows the weights, over requests and over users", () => {
    const share = (chosen: readonly string[]) => chosen.filter((one) => one === "2").length / chosen.length;
    const sticky = users.map((user) => choose({ targets, sticky: "x-user" }, all, by(user)));
    const random = users.map(() => choose({ targets }));
    for (const chosen of [sticky, random]) {
      expect(share(chosen)).toBeGreaterThan(0.05);
      expect(share(chosen)).toBeLessThan(0.15);
    }
  });

  it("keeps users where they are, but those of a target that is gone", () => {
    const three = { targets: [...targets, { model: "other", weight: 20 }], sticky: "x-user" };
    const before = users.map((user) => choose(three, all, by(user)));
    const isThere = ({ version }: { readonly version?: bigint }) => version !== 2n;
    const after = users.map((user) => choose(three, isThere, by(user)));
    expect(after.filter((target, index) => target !== before[index] && before[index] !== "2")).toEqual([]);
    expect(after).not.toContain("2");
  });

  it("never chooses a weight of 0, nor what is not available", () => {
    const off = {
      targets: [
        { version: 1n, weight: 0 },
        { version: 2n, weight: 1 },
      ],
    };
    expect(new Set(users.map(() => choose(off)))).toEqual(new Set(["2"]));
    expect(choose({ targets }, () => false)).toBe("");
    expect(choose(off, ({ version }) => version === 1n)).toBe("");
  });

  it("is described by its greatest part", () => {
    expect(chooseTarget({ targets: targets.toReversed() }, all, undefined)?.version).toBe(1n);
  });
});

it("traffic is shown in words", () => {
  const shadow = { model: "other", share: 0.125 };
  expect(trafficText({ split: { targets, stickyInputs: ["a", "b"] } })).toBe("split 1 = 90, 2 = 10 by inputs a, b");
  expect(trafficText({ split: { targets, sticky: "x-user" }, shadow })).toBe(
    "split 1 = 90, 2 = 10 by x-user; shadow other (12.5 %)",
  );
  expect(trafficText({})).toBe("");
});
