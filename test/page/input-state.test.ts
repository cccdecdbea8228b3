import { describe, expect, test } from "vitest";
import {
  type InputState,
  readWrittenForm,
  toFormTensor,
  withoutSecrets,
  withShape,
  withValues,
} from "../../src/page/input-state.ts";
import type { PageTensor } from "../../src/protocols/page/page-data.ts";

const ROWS: PageTensor = {
  name: "x",
  datatype: "FP32",
  shape: [1, -1],
  takesImages: false,
  isForImages: false,
  isOptional: false,
};
const START: InputState = { shape: "1, 1", values: "[[0]]" };

describe("the shape next to values", () => {
  test("follows them, until a person writes another one", () => {
    const three = withValues(ROWS, START, "[1, 2, 3]");
    expect(three.shape).toBe("1, 3");
    const own = withShape(three, "3, 1");
    expect(withValues(ROWS, own, "[1, 2, 4]").shape).toBe("3, 1");
    expect(toFormTensor(ROWS, own)?.shape).toEqual([3, 1]);
    expect(withValues(ROWS, own, "[[1, 2], [3, 4]]").shape).toBe("2, 2");
  });

  test("follows them again where it is emptied", () => {
    const emptied = withShape(withShape(withValues(ROWS, START, "[1, 2, 3]"), "3, 1"), "");
    expect(toFormTensor(ROWS, emptied)?.shape).toEqual([1, 3]);
    expect(withValues(ROWS, emptied, "[1, 2]").shape).toBe("1, 2");
  });

  test("stays while the values cannot be read, and beside one value for all", () => {
    expect(withValues(ROWS, START, "[1, 2").shape).toBe("1, 1");
    expect(withValues(ROWS, { ...START, shape: "1, 5" }, "7").shape).toBe("1, 5");
  });
});

describe("the texts of a form", () => {
  const inputs = [{ name: "x", shape: "3", values: "[1, 2, 3]" }];

  test("are read as they were written", () => {
    const form = { inputs, free: undefined, table: { names: ["a"], rows: [["1"], [""]] } };
    expect(readWrittenForm(JSON.parse(JSON.stringify(form)))).toEqual(form);
  });

  test.each([
    ["null", null],
    ["a list", []],
    ["no inputs", {}],
    ["an input without values", { inputs: [{ name: "x", shape: "3" }] }],
    ["a number as a shape", { inputs: [{ name: "x", shape: 3, values: "" }] }],
    ["a word as a flag", { inputs: [{ ...inputs[0], isOmitted: "yes" }] }],
    ["JSON that is no text", { inputs, free: 1 }],
    ["rows of numbers", { inputs, table: { names: ["a"], rows: [[1]] } }],
    ["rows without names", { inputs, table: { rows: [] } }],
  ])("are not read from %s", (_, value) => {
    expect(readWrittenForm(value)).toBeUndefined();
  });

  test("are kept without inputs whose names say that they are secrets", () => {
    const named = (name: string) => ({ name, shape: "1", values: "hunter2" });
    const secrets = [
      "password",
      "user_passwd",
      "API-key",
      "client_secret",
      "token",
      "access_token",
      "Authorization",
      "hf_token",
      "private_key",
      "jwt",
    ];
    const plain = ["token_type_ids", "tokens", "prompt"];
    const kept = withoutSecrets({ inputs: [...secrets, ...plain].map(named) });
    expect(kept?.inputs.map(({ name }) => name)).toEqual(plain);
  });

  test("are not kept where a secret is among others", () => {
    expect(withoutSecrets({ inputs: [], free: '{"x": [1], "api_key": "hunter2"}' })).toBeUndefined();
    expect(withoutSecrets({ inputs: [], table: { names: ["a", "password"], rows: [] } })).toBeUndefined();
    expect(withoutSecrets({ inputs: [], free: '{"x": "a password"}' })).toBeDefined();
    expect(withoutSecrets({ inputs: [], free: "{password: 'hunter2'}" })).toBeUndefined();
  });

  test("are not kept of an input whose values have a secret, nor if nothing is left", () => {
    const config = { name: "config", shape: "1", values: '{"url": "x", "api_key": "hunter2"}' };
    expect(withoutSecrets({ inputs: [config, { ...config, name: "x", values: "1" }] })?.inputs.length).toBe(1);
    expect(withoutSecrets({ inputs: [config] })).toBeUndefined();
  });
});
