import { describe, expect, it } from "vitest";
import { python, servePythonHooks } from "./serve-python-hooks.ts";

describe.skipIf(python === undefined)("a Python hook file with a fault", () => {
  it.each([
    [
      "def preprocess(inputs:\n  pass",
      /hooks\.py:1: SyntaxError: '\(' was never closed \(hooks\.py, line 1\): def preprocess\(inputs:$/,
    ],
    [
      "import no_such_module",
      /hooks\.py needs the module "no_such_module", which .+ \(Python 3.+\) does not have, nor the folder of the file\. Install it there, or name an interpreter that has it: -o python=PATH\./,
    ],
    ["x = 1\ny = {}['a']", /hooks\.py failed while it was imported: hooks\.py:2: KeyError: 'a'/],
    [
      "x = 1",
      /hooks\.py has no hooks; expected at least one of preprocess, postprocess, process, init_hook, or a function such as chat or embed\./,
    ],
    [
      "preprocess = [None, None]",
      /hooks\.py: preprocess has 2 functions, but there is 1 model; expected one function per model, None = no hook\./,
    ],
    ["preprocess = 'text'", /hooks\.py: preprocess is a str; expected a function or a list of functions\./],
    ["preprocess = ['text']", /hooks\.py: preprocess\[0\] is a str; expected a function or None\./],
    ["import os; os._exit(3)", /hooks\.py: its Python process ended with exit code 3 while the file was imported\./],
    [
      "def init_hook(**params):\n  raise ValueError('no labels')",
      /hooks\.py: init_hook failed: hooks\.py:2: ValueError: no labels/,
    ],
  ])("%j does not start", async (source, message) => {
    await expect(servePythonHooks(source)).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(message),
    });
  });
});
