import { describe, expect, test } from "vitest";
import { checkDeclarations } from "../../src/hooks/check-declarations.ts";
import { createTensor } from "../../src/tensor/tensor.ts";

const check = (declarations: object) => () => checkDeclarations(declarations, "my.ts");
const one = createTensor("float32", [1], Float32Array.of(1));

test("what is declared rightly passes, and so does nothing", () => {
  const specs = [
    { name: "x", dtype: "float32", shape: [-1, 3, { min: 1, max: 8 }, 0] },
    { name: "y", dtype: "bytes" },
    { name: "z", dtype: "float32", shape: [], default: one },
    { name: "scores", dtype: "float32", labels: ["cat", "dog"] },
  ];
  const options = {
    threshold: { type: "number", default: 0.5, min: 0, help: "least score" },
    count: { type: "integer", min: 1 },
    mode: { type: "choice", choices: ["a", "b"], default: "b" },
    verbose: { type: "boolean", default: false },
    label: { type: "string", default: "" },
    free: { type: "prefix", help: "anything" },
  };
  expect(check({ inputs: specs, outputs: [], options })).not.toThrow();
  expect(check({})).not.toThrow();
});

test("names alone as outputs, which look like a choice, are refused with where outputs are chosen", () => {
  expect(check({ outputs: ["label"] })).toThrow(
    /outputs\[0\] is a string; expected an object such as .* A request chooses among the outputs; left out here, they are the model's own\.$/,
  );
});

describe("inputs and outputs that are wrong are refused by their place:", () => {
  test.each<[string, unknown, string]>([
    ["an object", { x: "float32" }, "inputs is an object; expected an array such as [{ name:"],
    ["null", null, "inputs is null; expected an array"],
    ["a name alone", ["x"], "inputs[0] is a string; expected an object such as { name:"],
    ["no name", [{ dtype: "int8" }], "inputs[0].name is undefined; expected the tensor's name."],
    ["an empty name", [{ name: "", dtype: "int8" }], "inputs[0].name is an empty string; expected"],
    ["a misspelt dtype", [{ name: "x", dtype: "flaot32" }], 'inputs[0].dtype is "flaot32"; expected one of bool, '],
    ["a dtype that is near", [{ name: "x", dtype: "flaot32" }], 'Did you mean "float32"?'],
    ["a dtype of no text", [{ name: "x", dtype: Object.create(null) }], "inputs[0].dtype is an object; expected"],
    ["a member of Object as dtype", [{ name: "x", dtype: "constructor" }], 'inputs[0].dtype is "constructor"'],
    ["a shape that is no array", [{ name: "x", dtype: "int8", shape: 3 }], "inputs[0].shape is a number; expected"],
    ["a dimension of -2", [{ name: "x", dtype: "int8", shape: [1, -2] }], "inputs[0].shape[1] is -2; expected"],
    ["a fraction", [{ name: "x", dtype: "int8", shape: [1.5] }], "inputs[0].shape[0] is 1.5; expected an integer"],
    ["a name as dimension", [{ name: "x", dtype: "int8", shape: ["N"] }], "inputs[0].shape[0] is a string; expected"],
    ["a range upside down", [{ name: "x", dtype: "int8", shape: [{ min: 2, max: 1 }] }], "shape[0] is an object"],
    [
      "a misspelt member",
      [{ name: "x", dtype: "int8", shap: [] }],
      'inputs[0] has "shap"; expected name, dtype, shape',
    ],
    ["a member that is near", [{ name: "x", dtype: "int8", shap: [] }], 'Did you mean "shape"?'],
    [
      "a plain default",
      [{ name: "x", dtype: "int8", default: 1 }],
      "inputs[0].default is a number; expected a int8 tensor.",
    ],
    [
      "another dtype's default",
      [{ name: "x", dtype: "int8", default: one }],
      "default is a float32 tensor; expected a int8",
    ],
    [
      "labels that are numbers",
      [{ name: "x", dtype: "int8", labels: [1] }],
      "inputs[0].labels[0] is a number; expected",
    ],
    [
      "one name twice",
      [
        { name: "x", dtype: "int8" },
        { name: "x", dtype: "bool" },
      ],
      'inputs has "x" twice; expected each name once.',
    ],
  ])("%s", (_, specs, message) => {
    const expected = expect.objectContaining({
      code: "failed_precondition",
      message: expect.stringContaining(message),
    });
    expect(check({ inputs: specs })).toThrow(expected);
    expect(check({ outputs: specs })).toThrow(/^my\.ts: outputs/);
  });
});

describe("options that are wrong are refused by their place:", () => {
  test.each<[string, unknown, string]>([
    ["an array", ["threshold"], "options is an array; expected an object such as { threshold:"],
    ["a value instead of a table", { threshold: 0.5 }, "options.threshold is a number; expected an object, as in"],
    ["no type", { threshold: {} }, "options.threshold.type is undefined; expected one of string, boolean, integer"],
    ["a misspelt type", { a: { type: "sting" } }, 'options.a.type is "sting"; expected one of'],
    ["a type that is near", { a: { type: "sting" } }, 'Did you mean "string"?'],
    ["a member of Object as type", { a: { type: "constructor" } }, 'options.a.type is "constructor"'],
    ["a default of another type", { a: { type: "number", default: "1" } }, "options.a.default is a string; expected"],
    ["a fraction for an integer", { a: { type: "integer", default: 0.5 } }, "options.a.default is a number; expected"],
    ["min of a text", { a: { type: "string", min: 1 } }, 'options.a has "min"; expected type, help, default.'],
    ["min that is no number", { a: { type: "number", min: "1" } }, "options.a.min is a string; expected a number."],
    [
      "a function as default",
      { a: { type: "string", default: () => "" } },
      "options.a.default is a function; expected",
    ],
    ["a choice without choices", { a: { type: "choice" } }, "options.a.choices is undefined; expected texts"],
    ["choices that are numbers", { a: { type: "choice", choices: [1] } }, "options.a.choices[0] is a number; expected"],
    [
      "a default that is no choice",
      { a: { type: "choice", choices: ["b"], default: "c" } },
      'default is "c"; expected one of b.',
    ],
    ["help that is no text", { a: { type: "string", help: 1 } }, "options.a.help is a number; expected a text."],
  ])("%s", (_, options, message) => {
    const expected = expect.objectContaining({
      code: "failed_precondition",
      message: expect.stringContaining(message),
    });
    expect(check({ options })).toThrow(expected);
  });
});
