import { expect, test } from "vitest";
import { LiveCalls } from "../../../src/access/authentication/live-calls.ts";
import { CallScope } from "../../../src/access/call-scope.ts";
import { AccessRules } from "../../../src/access/rules/access-rules.ts";
import { type ErrorCode, ServingError } from "../../../src/errors.ts";

const CALLER = { address: "10.0.0.1", host: undefined, headers: {} };
const scopeOf = (name: string, until?: number) =>
  new CallScope("inference", new AccessRules(), { names: [name] }, until);

/** A call that lasts, among calls that are asked about with this outcome. */
function start(outcome: () => CallScope, until?: number) {
  const seen = { asked: 0, ended: [] as string[] };
  const calls = new LiveCalls(() => {
    seen.asked++;
    return outcome();
  });
  const scope = scopeOf("ann", until);
  const remove = calls.add({ kind: "inference", caller: CALLER, scope, end: ({ code }) => seen.ended.push(code) });
  const ask = async (hasChanged: boolean) => {
    calls.askAgain(hasChanged);
    await new Promise(setImmediate);
  };
  return { seen, scope, remove, ask };
}

test("a call is asked about again when something has changed, or its credentials have expired", async () => {
  const { seen, scope, ask } = start(() => scopeOf("bea"), Date.now() + 60_000);
  await ask(false);
  expect([seen.asked, scope.user]).toEqual([0, "ann"]);
  await ask(true);
  expect([seen.asked, scope.user, scope.isDue]).toEqual([1, "bea", false]);
  scope.expire();
  expect(scope.isDue).toBe(true);
  await ask(false);
  expect([seen.asked, scope.isDue]).toEqual([2, false]);
  expect(seen.ended).toEqual([]);
});

test.each<ErrorCode>(["unauthenticated", "permission_denied"])("a call that is %s now is ended, once", async (code) => {
  const { seen, ask } = start(() => {
    throw new ServingError(code, "no");
  });
  await ask(true);
  await ask(true);
  expect(seen).toEqual({ asked: 1, ended: [code] });
});

test("a call that cannot be checked now goes on, and is asked about at the next look", async () => {
  const { seen, scope, ask } = start(() => {
    if (seen.asked === 1) throw new ServingError("unavailable", "later");
    return scopeOf("bea");
  });
  await ask(true);
  expect([scope.user, scope.isDue, seen.ended]).toEqual(["ann", true, []]);
  await ask(false);
  expect([scope.user, scope.isDue]).toEqual(["bea", false]);
});

test("a call that is over is not asked about, nor ended by an answer that comes late", async () => {
  const before = start(() => scopeOf("bea"));
  before.remove();
  await before.ask(true);
  expect(before.seen.asked).toBe(0);
  const late = start(() => {
    late.remove();
    throw new ServingError("unauthenticated", "no");
  });
  await late.ask(true);
  expect(late.seen).toEqual({ asked: 1, ended: [] });
});
