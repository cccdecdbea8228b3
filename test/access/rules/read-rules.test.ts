import { expect, test } from "vitest";
import { readRules } from "../../../src/access/rules/read-rules.ts";
import { parseYaml } from "../../../src/tensor/codecs/config/yaml.ts";

const read = (text: string) => readRules(parseYaml(text, "rules.yaml"), "rules.yaml");

test("a rule lets its callers make its kinds of calls of its models", () => {
  const rules = read(`
allow:
  - { who: [alice, "token:*"], models: [resnet, team-*] }
  - { who: alice, models: extra }
  - { who: "*", kinds: metrics }
`);
  const alice = { names: ["alice"] } as const;
  const token = { names: ["token:ci", "cn:client1"] } as const;
  expect(rules.modelsFor(alice, "inference")?.texts).toEqual(["resnet", "team-*", "extra"]);
  expect(rules.modelsFor(token, "read")?.texts).toEqual(["resnet", "team-*"]);
  expect(rules.modelsFor(token, "control")).toBeUndefined();
  expect(rules.modelsFor({ names: ["bob"] }, "read")).toBeUndefined();
  expect(rules.modelsFor({ names: ["bob"] }, "metrics")?.isEvery).toBe(true);
  expect([rules.isOpen("health"), rules.isOpen("metrics")]).toEqual([true, false]);
  expect(rules.modelsFor(alice, "priority")).toBeUndefined();
  const models = rules.modelsFor(token, "inference");
  expect(["resnet", "team-", "team-a", "resnet2", "xteam-a", ""].map((name) => models?.matches(name))).toEqual([
    ...[true, true, true],
    ...[false, false, false],
  ]);
});

test.each([
  ["", "rules.yaml:1:1: The file has no rules"],
  ["[]", "rules.yaml:1:1: The file has no rules"],
  ["alow: []", 'rules.yaml:1:1: There is no key "alow". Did you mean "allow"?'],
  ["allow: {}", "Expected a list of rules"],
  ["allow: [{ kinds: [infer] }]", "The rule names no caller"],
  ["allow: [{ who: [a], kinds: [run] }]", 'rules.yaml:1:29: There is no kind "run" of calls.'],
  ["allow: [{ who: [[a]] }]", "Expected a text"],
  ["allow: [{ who: a, kinds: metrics, models: m }]", "Metrics are about all models"],
  ["allow: [a]", "rules.yaml:1:9: A rule is keys and values"],
  ['allow: [{ who: "" }]', "Expected a text"],
  ["open: [control]", "never open to everybody"],
  ["open: [priority]", "Priority before others is for callers with a name"],
])("%j is refused with its place", (text, message) => {
  expect(() => read(text)).toThrow(message);
});

test("priority before others is for whom a rule names, also where there are no rules", () => {
  const rules = read('allow: [{ who: alice, kinds: [infer, priority], models: "team-*" }]');
  expect(rules.modelsFor({ names: ["alice"] }, "priority")?.texts).toEqual(["team-*"]);
  expect(rules.modelsFor({ names: ["bob"] }, "priority")).toBeUndefined();
  expect(read("open: [health]").modelsFor({ names: ["alice"] }, "priority")).toBeUndefined();
});

test("without a list of rules, who is known may make all kinds of calls of all models", () => {
  const rules = read("open: [metrics]");
  for (const kind of ["inference", "read", "control"] as const)
    expect(rules.modelsFor({ names: ["alice"] }, kind)?.isEvery).toBe(true);
  expect([rules.isOpen("metrics"), rules.isOpen("health"), rules.isOpen("page")]).toEqual([true, false, true]);
});
