import { describe, expect, it, test } from "vitest";
import { CallScope, currentScope, runInScope } from "../../src/access/call-scope.ts";
import type { CallKind } from "../../src/access/caller.ts";
import { readRules } from "../../src/access/rules/access-rules.ts";
import { parseYaml } from "../../src/tensor/codecs/config/yaml.ts";

const RULES = `
open: [health, metrics]
allow:
  - { who: ann, kinds: [infer, priority], models: [a, "team-*"] }
  - { who: ann, kinds: read, models: b }
  - { who: ops, kinds: [control, priority] }
  - { who: part, kinds: control, models: a }
`;
const rules = readRules(parseYaml(RULES, "rules.yaml"), "rules.yaml");
const scopeOf = (kind: CallKind, name?: string) =>
  new CallScope(kind, rules, name === undefined ? undefined : { names: [name, `cn:${name}`] });
const denied = (message: string) => expect.objectContaining({ code: "permission_denied", message });
const RULE = "; a rule of --auth-rules can allow it.";

describe("a caller with a name", () => {
  it("makes calls of the kinds that a rule allows, or that are open to all", () => {
    const scope = scopeOf("inference", "ann");
    for (const kind of ["inference", "read", "health", "metrics", "page"] as const) scope.assertKind(kind);
    expect(() => scope.assertKind("control")).toThrow(denied(`ann may not change this server here${RULE}`));
    expect(() => scopeOf("read", "ops").assertKind("read")).toThrow(
      denied(`ops may not read about this server here${RULE}`),
    );
  });

  it("knows the models of its call's kind, and hears of those of others", () => {
    const scope = scopeOf("inference", "ann");
    expect(["a", "team-x", "b", "c"].map((model) => scope.knows(model))).toEqual([true, true, false, false]);
    expect(["a", "team-x", "b", "c"].map((model) => scope.hears(model))).toEqual([true, true, true, false]);
    expect([scope.isWhole, scopeOf("control", "ops").isWhole, scopeOf("metrics", "ann").isWhole]).toEqual([
      ...[false, true, true],
    ]);
    scope.assertModel("a");
    expect(() => scope.assertModel("b")).toThrow(denied(`ann may not run the model "b"${RULE}`));
    expect(() => scopeOf("control", "part").assertModel("b")).toThrow(
      denied(`part may not change the model "b"${RULE}`),
    );
  });

  it("changes the whole server where its rule names no models, and goes first where one says so", () => {
    scopeOf("control", "ops").assertControlsAll();
    const problem = `part may change some models alone, and this call changes the whole server${RULE}`;
    expect(() => scopeOf("control", "part").assertControlsAll()).toThrow(denied(problem));
    const scope = scopeOf("inference", "ann");
    expect(["a", "b"].map((model) => scope.mayGoFirst(model))).toEqual([true, false]);
    expect([scopeOf("control", "ops").mayGoFirst("any"), scopeOf("read", "part").mayGoFirst("a")]).toEqual([
      ...[true, false],
    ]);
  });
});

describe("a caller without a name", () => {
  it("is told so, and may not change or go first, whatever is open", () => {
    const scope = scopeOf("health");
    expect(scope.user).toBe("");
    expect(() => scope.assertKind("inference")).toThrow(
      denied(`A caller without a name may not run models here${RULE}`),
    );
    expect(scope.mayGoFirst("a")).toBe(false);
    expect(() => scope.assertControlsAll()).toThrow("the whole server");
  });

  it("knows of a model by a probe once the probe has named it, and of all by any other call", () => {
    const probe = scopeOf("health");
    expect([probe.isWhole, probe.knows("a"), probe.hears("a")]).toEqual([false, false, false]);
    probe.assertModel("a");
    expect([probe.knows("a"), probe.hears("a"), probe.knows("b")]).toEqual([true, true, false]);
    expect([scopeOf("read").isWhole, scopeOf("read").knows("a")]).toEqual([true, true]);
  });
});

it("a scope is due once its time is over, until it has adopted a later one", () => {
  const scope = new CallScope("read", rules, { names: ["ann"] }, Date.now() + 60_000);
  expect(scope.isDue).toBe(false);
  expect(new CallScope("read", rules, undefined, Date.now()).isDue).toBe(true);
  scope.expire();
  expect([scope.isDue, scope.knows("b")]).toEqual([true, true]);
  scope.adopt(scopeOf("read", "ops"));
  expect([scope.isDue, scope.user, scope.knows("b")]).toEqual([false, "ops", false]);
});

describe("a call that lasts", () => {
  const later = (models: string) => {
    const text = `allow: [{ who: ann, kinds: infer, models: ${models} }]`;
    return new CallScope("inference", readRules(parseYaml(text, "rules.yaml"), "rules.yaml"), { names: ["ann"] });
  };

  it("goes on while it may name the models that it has named, and others by then", () => {
    const scope = scopeOf("inference", "ann");
    scope.assertModel("a");
    scope.adopt(later("[a, c]"));
    scope.assertModel("c");
    expect(() => scope.adopt(later("c"))).toThrow(denied(`ann may not run the model "a"${RULE}`));
  });

  it("ends where it could name any model, and may name some alone by now", () => {
    const problem = `may name some models alone by now${RULE}`;
    scopeOf("control", "ops").adopt(scopeOf("control", "ops"));
    expect(() => scopeOf("control", "ops").adopt(scopeOf("control", "part"))).toThrow(denied(`part ${problem}`));
    // A thousand stand for any: no more are remembered.
    for (const count of [999, 1000, 1001]) {
      const scope = scopeOf("inference", "ann");
      for (let model = 0; model < count; model++) scope.assertModel(`team-${model}`);
      const adopt = () => scope.adopt(later('"team-*"'));
      if (count < 1000) expect(adopt).not.toThrow();
      else expect(adopt).toThrow(denied(`ann ${problem}`));
    }
  });

  it("has named no model by a name of more than 1024 characters", () => {
    const probe = scopeOf("health");
    for (const length of [1024, 1025]) probe.assertModel("x".repeat(length));
    expect([1024, 1025].map((length) => probe.knows("x".repeat(length)))).toEqual([true, false]);
  });
});

test("a call runs in its scope to its last await, and no other does", async () => {
  const [one, other] = [scopeOf("read", "ann"), scopeOf("read", "ops")];
  const seen = await Promise.all(
    [one, other].map((scope) =>
      runInScope(scope, async () => {
        await new Promise(setImmediate);
        return currentScope();
      }),
    ),
  );
  expect(seen).toEqual([one, other]);
  expect(seen[0]).toBe(one);
  expect(currentScope()).toBeUndefined();
});
