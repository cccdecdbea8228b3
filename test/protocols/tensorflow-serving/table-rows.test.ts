import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { hintMembers } from "../../../src/error-info.ts";
import { ServingError } from "../../../src/errors.ts";
import { DecodeBudget } from "../../../src/platform/limits/memory/decode-budget.ts";
import { parsePredictBody, readInputs } from "../../../src/protocols/tensorflow-serving/http-request.ts";
import { MISSING_TEXT } from "../../../src/tensor/codecs/csv.ts";
import type { Signature } from "../../../src/tensor/signature/signature.ts";
import { ampleBudget } from "../../proxy/ample-budget.ts";

const TABLE: Signature = {
  isTabular: true,
  suggestedInputs: [{ name: "input", dtype: "float64", shape: [-1, 2], features: ["n", "c"] }],
};
const NUMBERED: Signature = { isTabular: true };

function read(json: string, signature: Signature, { isCsv = false, budget = ampleBudget() } = {}) {
  return { ...readInputs(parsePredictBody(Buffer.from(json), budget, { isCsv }), signature).inputs };
}

const texts = (...values: (string | Uint8Array)[]) =>
  values.map((value) => Uint8Array.from(Buffer.from(value as string)));
const floats = (...values: number[]) => Float32Array.from(values);
const doubles = (...values: number[]) => Float64Array.from(values);

describe("rows of a table", () => {
  it.each([
    ["by the names of its features", TABLE, ["n", "c"], doubles],
    ["by their numbers", NUMBERED, ["0", "1"], floats],
  ])("with numbers and texts are columns, %s", (_, signature, [first = "", second = ""], numbers) => {
    expect(read('{"instances": [[2.5, "b"], [1, "a"], [null, null]]}', signature)).toMatchObject({
      [first]: { shape: [3], data: numbers(2.5, 1, Number.NaN) },
      [second]: { dtype: "bytes", shape: [3], data: texts("b", "a", MISSING_TEXT) },
    });
  });

  it("with texts and missing values are columns where these have names", () => {
    expect(read('{"instances": [[null, "b"]]}', TABLE)).toMatchObject({
      n: { dtype: "float64", data: doubles(Number.NaN) },
      c: { dtype: "bytes", data: texts("b") },
    });
  });

  it("may begin with the names of the features, in any order", () => {
    const rows = '{"instances": [["c", "n"], ["b", 2.5]]}';
    expect(read(rows, TABLE)).toMatchObject({ c: { data: texts("b") }, n: { data: doubles(2.5) } });
    expect(() => read('{"instances": [["c", "n"]]}', TABLE)).toThrow("expected rows behind them");
  });

  it("stay one tensor where they are numbers alone, or texts alone", () => {
    expect(read('{"instances": [[1, null], [2, 3]]}', TABLE)).toMatchObject({
      inputs: { dtype: "float64", shape: [2, 2], data: doubles(1, Number.NaN, 2, 3) },
    });
    expect(read('{"instances": [["a", null]]}', NUMBERED)).toMatchObject({
      inputs: { dtype: "bytes", shape: [1, 2], data: texts("a", MISSING_TEXT) },
    });
  });

  it("are refused where one has another number of values, or a list among them", () => {
    expect(() => read('{"instances": [[2.5, "b"], [1]]}', TABLE)).toThrow(
      "Row 2 has 1 value; the model has 2 columns: n, c.",
    );
    expect(() => read('{"instances": [[2.5, ["b"]]]}', TABLE)).toThrow("unexpected level");
    expect(() => read('{"instances": [["n", "c"], [2.5, "b"], [1]]}', TABLE)).toThrow(
      "Row 2 has 1 value; the model has 2 columns: n, c.",
    );
    expect(() => read('{"instances": [["n", "c"], [1], ["x", [2]]]}', TABLE)).toThrow(
      "Row 1 has 1 value; the model has 2 columns: n, c.",
    );
    const noRow = (what: string) => `Row 2 ${what}; expected a value for each of n, c, as the names before the rows.`;
    expect(() => read('{"instances": [["n", "c"], [2.5, "b"], {"n": 1}]}', TABLE)).toThrow(noRow("is no list"));
    for (const row of ['[1, ["b"]]', "[[1, 2], [3, 4]]"])
      expect(() => read(`{"instances": [["n", "c"], [2.5, "b"], ${row}]}`, TABLE)).toThrow(
        noRow("has lists or objects among its values"),
      );
  });

  it("that are refused have a hint for programs", () => {
    const hintOf = (json: string, isCsv: boolean) => {
      try {
        return read(json, TABLE, { isCsv });
      } catch (reason) {
        return hintMembers(ServingError.from(reason).details);
      }
    };
    expect(hintOf('{"instances": [[2.5, "b"], [1]]}', false)).toEqual({ reason: "WRONG_SHAPE", expected: "[2]" });
    const twice = { reason: "WRONG_SHAPE", field: "n", expected: "n, c" };
    expect(hintOf('{"instances": [["n", "n"], [1, 2]]}', true)).toEqual(twice);
  });

  it("name a text and a number in a column of which neither is known to be wrong", () => {
    const columns = [{ name: "zip", dtype: "float64", shape: [-1], isAssumed: true } as const];
    const guess: Signature = { isTabular: true, suggestedInputs: columns };
    const refuse = (json: string) =>
      readInputs(parsePredictBody(Buffer.from(json), ampleBudget(), { isPlain: true }), guess);
    const expected = "expected texts alone or numbers alone, as the model was trained with.";
    for (const rows of [
      '{"instances": [{"zip": "A1"}, {"zip": null}, {"zip": 7}]}',
      '{"inputs": {"zip": ["A1", null, 7]}}',
    ])
      expect(() => refuse(rows)).toThrow(`Row 3, "zip": the value is 7, and "A1" in row 1; ${expected}`);
    expect(() => refuse('{"instances": [{"zip": 7}, {"zip": "A1"}]}')).toThrow(
      `Row 2, "zip": the value is "A1", and 7 in row 1; ${expected}`,
    );
    expect(() => refuse('{"instances": [{"zip": 7}, [5], {"zip": "A1"}]}')).toThrow(
      `Row 3, "zip": the value is "A1", and 7 in row 1; ${expected}`,
    );
    expect(refuse('{"instances": [{"zip": "01234"}]}').inputs.zip?.dtype).toBe("bytes");
  });

  it("are named by their numbers from 1, with the column, where a value does not fit", () => {
    const wanted: Signature = {
      isTabular: true,
      inputs: [
        { name: "n", dtype: "int64", shape: [-1] },
        { name: "c", dtype: "bytes", shape: [-1] },
      ],
    };
    expect(() => read('{"instances": [["n", "c"], [1, "a"], [2.5, "b"]]}', wanted, { isCsv: true })).toThrow(
      'Row 2, "n": the value is 2.5; expected a whole number (int64).',
    );
  });

  it("may be an object of lists, one for each column", () => {
    const frame = '{"instances": [{"c": ["a", null], "d": ["x", "y"]}, {"d": ["z"], "c": ["b"]}]}';
    expect(read(frame, NUMBERED)).toMatchObject({
      c: { shape: [3], data: texts("a", MISSING_TEXT, "b") },
      d: { shape: [3], data: texts("x", "y", "z") },
    });
    expect(read('{"instances": [{"c": ["a", "b"]}]}', {})).toMatchObject({ c: { shape: [1, 2] } });
    expect(() => read('{"instances": [{"c": ["a", "b"], "d": ["x"]}, {"c": ["a"], "d": []}]}', NUMBERED)).toThrow();
  });

  it("count the memory of rows that are taken apart", () => {
    const numbers = `[${"1,".repeat(999)}1]`;
    const mixed = `[${"1,".repeat(999)}"a"]`;
    const budget = new DecodeBudget(150_000);
    expect(() => read(`{"instances": [${mixed}, ${numbers}, ${numbers}]}`, TABLE, { budget })).toThrow(
      "a row beside others with texts",
    );
  });

  it("have the forms that docs/kserve.md lists, of which hooks take those that are not for estimators alone", () => {
    const forms = [...readFileSync("docs/kserve.md", "utf8").matchAll(/^\| `(\[.*\])` \| (.*) \|$/gm)];
    const shapes = [
      { name: "size", dtype: "float64" as const },
      { name: "kind", dtype: "bytes" as const },
    ];
    const estimator = { isTabular: true, suggestedInputs: shapes.map((each) => ({ ...each, shape: [-1] })) } as const;
    expect(forms).toHaveLength(5);
    for (const [, form, about = ""] of forms)
      for (const signature of about.includes("alone") ? [estimator] : [estimator, {}])
        expect(read(`{"instances": ${form}}`, signature), form).toMatchObject({
          ...{ size: { shape: [2] }, kind: { dtype: "bytes", shape: [2] } },
        });
  });

  it("that are objects may have columns of other names beside those of the features", () => {
    const suggestedInputs = ["age", "zip", "street"].map((name) => ({ name, shape: [-1] }));
    const columns = (rows: string) => Object.keys(read(`{"instances": ${rows}}`, { isTabular: true, suggestedInputs }));
    expect(columns('[{"id": 1, "age": 5, "zip": "01234"}, {"id": 2, "age": 6}]')).toEqual(["id", "age", "zip"]);
    expect(columns('[{"age": 5, "zip": "01234"}, {"id": 2, "age": 6}]')).toEqual(["age", "zip", "id"]);
    expect(columns('[{"zip": "a", "zips": 1}, {"zips": 2, "age": 6}]')).toEqual(["zip", "zips", "age"]);
    for (const name of ["zpi", "zi", "zipp", "zop", "Zip"])
      expect(() => columns(`[{"zip": "a"}, {"age": 1}, {"${name}": "a", "age": 1}]`), name).toThrow(
        `Row 3 has the column "${name}"; expected age, zip, street. Did you mean "zip"?`,
      );
    expect(() => columns('[{"street": "a"}, {"stret": "a"}]')).toThrow('Did you mean "street"?');
  });

  it("that are objects may lack values", () => {
    expect(read('{"instances": [{"n": 1.5}, {"c": "b", "n": null}]}', TABLE)).toMatchObject({
      n: { data: doubles(1.5, Number.NaN) },
      c: { data: texts(MISSING_TEXT, "b") },
    });
  });
});

describe("a first line of CSV", () => {
  const typed: Signature = { inputs: [{ name: "x", dtype: "float32" }, { name: "t", dtype: "bytes" }] }; // biome-ignore format: short
  const csv = { isCsv: true };

  it.each([
    ["a model of tables", TABLE, "n", "c", doubles],
    ["a model of such inputs", typed, "x", "t", floats],
    ["a model that says nothing of its inputs", {}, "a", "b", floats],
  ] as const)("names the columns for %s", (_, signature, number, text, numbers) => {
    const rows = `{"instances": [["${text}", "${number}"], ["b", 2.5]]}`;
    expect(read(rows, signature, csv)).toMatchObject({
      [text]: { data: texts("b") },
      [number]: { data: numbers(2.5) },
    });
  });

  it("may have names that the model does not know, which stay", () => {
    expect(Object.keys(read('{"instances": [["c", "m"], ["b", 2.5]]}', TABLE, csv))).toEqual(["c", "m"]);
    expect(Object.keys(read('{"instances": [["d", "m"], ["b", 2.5]]}', TABLE, csv))).toEqual(["d", "m"]);
  });

  it("names the only column", () => {
    const only: Signature = { isTabular: true, suggestedInputs: [{ name: "c", dtype: "bytes", shape: [-1] }] };
    expect(read('{"instances": ["c", "b"]}', only, csv)).toMatchObject({ c: { data: texts("b") } });
  });

  it("may have no name for a column beside known ones, such as the index of pandas and of R, which is left out", () => {
    for (const [signature, names] of [
      [TABLE, '"n", "c"'],
      [typed, '"x", "t"'],
    ] as const)
      for (const empty of ["null", '""'])
        expect(read(`{"instances": [[${empty}, ${names}], [0, 2.5, "b"]]}`, signature, csv)).toEqual(
          read(`{"instances": [[${names}], [2.5, "b"]]}`, signature, csv),
        );
    expect(() => read('{"instances": [["n", "n"], [1, 2]]}', TABLE, csv)).toThrow(
      'The column "n" comes twice; expected n, c once.',
    );
  });

  it("is a row where it has no names", () => {
    const words: Signature = { inputs: [{ name: "t", dtype: "bytes" }] };
    expect(read('{"instances": [["a", "b"], ["c", "d"]]}', words, csv)).toMatchObject({ t: { shape: [2, 2] } });
    expect(read('{"instances": [["a", "b"], ["c", "d"]]}', {}, csv)).toMatchObject({ inputs: { shape: [2, 2] } });
  });
});

describe("what is empty in CSV", () => {
  it("is NaN among floats, and an empty text among texts", () => {
    const typed = (dtype: "float32" | "bytes" | "int32"): Signature => ({ inputs: [{ name: "x", dtype }] });
    expect(read('{"instances": [[1, null, "nan"]]}', typed("float32"), { isCsv: true })).toMatchObject({
      x: { data: floats(1, Number.NaN, Number.NaN) },
    });
    expect(read('{"instances": [["a", null, "nan"]]}', typed("bytes"), { isCsv: true })).toMatchObject({
      x: { data: texts("a", "", "nan") },
    });
    expect(() => read('{"instances": [[1, null]]}', typed("int32"), { isCsv: true })).toThrow(
      "value 2 is missing (null)",
    );
    expect(() => read('{"instances": [[1, null]]}', typed("float32"))).toThrow("Type: Null is not of expected type");
  });
});
