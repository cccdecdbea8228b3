import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { toHooks, validateHooks } from "../../src/hooks/hook-set.ts";
import type { Hooks } from "../../src/hooks/hooks.ts";
import { importUserModule } from "../../src/platform/user-module/user-module.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const hook = (values: object) => values as never;
async function* parts() {}
const check =
  (hooks: object, count = 2) =>
  () =>
    validateHooks(hooks as Hooks, count, "my.ts");

test("a function serves a single model, and null leaves a place empty", () => {
  expect(check({ preprocess: hook }, 1)()).toMatchObject({ preprocess: [hook], postprocess: [null] });
  expect(check({ postprocess: [null, hook] })()).toMatchObject({ preprocess: [null, null], postprocess: [null, hook] });
});

describe("hooks that cannot work are refused before a port opens", () => {
  test.each([
    [
      "a function for two models",
      { preprocess: hook },
      "preprocess is one function, but there are 2 models; expected an array",
    ],
    ["too many slots", { preprocess: [hook, null, hook] }, "preprocess has 3 slots, but there are 2 models"],
    ["too few slots", { postprocess: [hook] }, "postprocess has 1 slot, but there are 2 models"],
    [
      "a slot that is no function",
      { preprocess: [hook, "x"] },
      "preprocess[1] is a string; expected a function or null.",
    ],
    [
      "an undefined slot",
      { preprocess: [hook, undefined] },
      "preprocess[1] is undefined; expected a function or null.",
    ],
    [
      "slots that are no array",
      { preprocess: { 0: hook } },
      "preprocess is an object; expected a function or an array of functions.",
    ],
    [
      "init_hook that is no function",
      { init_hook: 3, preprocess: [null, null] },
      "init_hook is a number; expected a function.",
    ],
    ["both process and preprocess", { process: hook, preprocess: [hook, hook] }, "process replaces the whole chain"],
    ["a misspelt member", { preproces: [hook, hook] }, 'my.ts has no use for "preproces". Did you mean "preprocess"?'],
    [
      "collect that is no function",
      { process: parts, collect: new Map() },
      "my.ts: collect is an object; expected a function.",
    ],
    [
      "a description that is no text",
      { process: hook, description: 5 },
      "my.ts: description is a number; expected a text.",
    ],
    [
      "collect without a generator",
      { process: hook, collect: hook },
      "my.ts has collect, but no hook whose parts it would join; expected a generator",
    ],
    [
      "nothing",
      {},
      "my.ts exports no hooks; expected at least one of init_hook, process, close_hook, preprocess, postprocess, rawRequest.",
    ],
  ])("%s", (_, hooks, message) => {
    expect(check(hooks)).toThrow(message);
  });
});

describe("a module", () => {
  test("gives its default export, or else its named exports", () => {
    const whole = { preprocess: hook };
    expect(toHooks({ default: whole, preprocess: 1 }, "my.ts")).toBe(whole);
    expect(toHooks({ preprocess: hook, helper: 1 }, "my.ts")).toMatchObject({ preprocess: hook });
  });

  test.each(["new Map()", "(values) => values"])("may export %s as collect if its hooks make no parts", async (own) => {
    const source = `export const process = (inputs) => inputs; export const collect = ${own};`;
    const exports = await importUserModule(join(tempFolder({ "my.mjs": source }), "my.mjs"));
    expect(validateHooks(toHooks(exports, "my.mjs"), 1, "my.mjs").collect).toBeUndefined();
  });

  test("with a misspelt export is refused with the nearest name", () => {
    expect(() => toHooks({ postproces: hook }, "my.ts")).toThrow(
      'my.ts exports "postproces". Did you mean "postprocess"?',
    );
  });
});
