import { join } from "node:path";
import { expect, test } from "vitest";
import { toHooks } from "../../src/hooks/hook-set.ts";
import { importUserModule } from "../../src/platform/user-module/user-module.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

async function load(name: string, source: string) {
  return toHooks(await importUserModule(join(tempFolder({ [name]: source }), name)), name);
}

test.each([
  [
    "my.ts",
    "export default function (inputs: object) { return inputs; }",
    "a function; expected an object of hooks: export default { preprocess: ",
  ],
  ["my.ts", "export default (inputs: object) => inputs;", "a function; expected"],
  [
    "my.ts",
    "export default async function postprocess(outputs: object) { return outputs; }",
    "a function (postprocess); expected an object of hooks: export default { postprocess: (inputs, ctx, args) => inputs }; or the function under its own name: export function postprocess(",
  ],
  ["my.ts", "export default class Hooks { preprocess() {} }", "a class (Hooks); expected an object of hooks"],
  [
    "my.js",
    "module.exports = function process(inputs) { return inputs; };",
    "a function (process); expected an object of hooks",
  ],
  ["my.cjs", "module.exports = class Hooks { preprocess() {} };", "a class (Hooks); expected"],
  ["my.ts", "export default 'preprocess';", "a string; expected"],
])("%s with %s names the mistake and the right form", async (name, source, message) => {
  await expect(load(name, source)).rejects.toMatchObject({
    code: "failed_precondition",
    message: expect.stringContaining(`${name}: its default export (or module.exports) is ${message}`),
  });
});

test.each([
  ["my.js", "module.exports = { preprocess: (inputs) => inputs };"],
  ["my.cjs", "exports.preprocess = (inputs) => inputs;"],
  ["my.ts", "export default function helper() {} export const preprocess = (inputs: object) => inputs;"],
])("%s with %s is taken", async (name, source) => {
  expect(await load(name, source)).toMatchObject({ preprocess: expect.any(Function) });
});

test.each([
  [
    "hooks.py",
    "is Python, which is not run here; expected a TypeScript or JavaScript file (.ts, .mts, .cts, .js, .mjs, .cjs).",
  ],
  ["hooks.json", "ends in .json; expected a TypeScript"],
  ["hooks", "has no ending that tells its language; expected a TypeScript"],
])("%s is refused with what is taken", async (name, message) => {
  await expect(load(name, "def preprocess(): pass")).rejects.toThrow(`${name} ${message}`);
});
