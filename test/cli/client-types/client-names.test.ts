import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import type { DescribedModel } from "../../../src/cli/client-types/typed-tensor.ts";
import { writeGoClient } from "../../../src/cli/client-types/write-go-client.ts";
import { writeModelTypes } from "../../../src/cli/client-types/write-model-types.ts";
import { writePythonClient } from "../../../src/cli/client-types/write-python-client.ts";
import { missingPython, PYTHON } from "../../helpers/missing-python.ts";

const column = (name: string, more: object = {}) => ({ name, dtype: "float32" as const, shape: [-1], ...more });
const CITIES = { dtype: "bytes", categories: ["Paris", "*/ Rome\n"] };
const NAMES = ["возраст", "Größe", "年 齢", "नाम", "ｃｌａｓｓ", "²", "😀", "e\u0301t", "ét", "𐐨x"];
const model: DescribedModel = {
  inputs: [...NAMES.map((name) => column(name)), column("city", CITIES), column("rooms", { categories: [3, 4] })],
  outputs: [column("площадь")],
};
const models = new Map([["модель", model]]);
const many = new Map([["m", { inputs: [column("n", { categories: Array.from({ length: 30 }, (_, at) => at) })] }]]);

const lacking = missingPython("Names in the parser of Python", "ast");

test.skipIf(lacking !== undefined)("names of any script are identifiers of Python, which its parser takes", () => {
  const text = writePythonClient(models, "here");
  const parameters = /def модель\(self, \*, (.*)\) -> МодельOutputs:/.exec(text)?.[1]?.match(/[^ ,]+(?=: npt)/g);
  const own = ["возраст", "größe", "年_齢", "नाम", "class_", "n_2", "n", "ét", "ét_2", "𐐨x", "city", "rooms"];
  expect(parameters).toEqual(own.map((name) => name.replace("größe", "Größe")));
  expect(text).toContain('        # city: one of "Paris", "*/ Rome\\n"\n        # rooms: one of 3, 4\n');
  execFileSync(PYTHON, ["-c", "import ast, sys; ast.parse(sys.stdin.read())"], { input: text });
});

test("names of any script are exported by Go, with an X before letters that have no upper case", () => {
  const text = writeGoClient(models, "here");
  const [, struct = ""] = /type МодельInputs struct \{(.*?)\n\}/s.exec(text) ?? [];
  expect([...struct.matchAll(/^\t(\S+) Tensor/gm)].map(([, name]) => name)).toEqual([
    ...["Возраст", "Größe", "X年齢", "Xनम", "Class", "N2", "N", "Ét", "Ét_2", "𐐀x", "City", "Rooms"],
  ]);
  expect(text).toContain('one of "Paris", "*/ Rome\\n"');
});

test("names of any script are members in TypeScript, and categories are comments that end nowhere else", () => {
  const text = writeModelTypes(models, "here");
  for (const name of ["возраст", "Größe", '"年 齢"', "नाम"])
    expect(text).toContain(`      ${name}: In<"float32", [-1]>;`);
  expect(text).toContain('      /** One of "Paris", "* / Rome\\n". */\n      city: In<"bytes", [-1]>;');
  expect(text).toContain("      /** One of 3, 4. */\n");
  expect(writeModelTypes(many, "here")).toContain("18, 19 and more. */");
  expect(writePythonClient(many, "here")).toContain("18, 19 and more\n");
});
