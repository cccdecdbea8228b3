import { expect, it } from "vitest";
import type { DType } from "../../../src/tensor/dtype.ts";
import type { Tensors } from "../../../src/tensor/tensor.ts";
import { shareServer } from "../../helpers/start-server.ts";

const spec = (name: string, dtype: DType, ...shape: number[]) => ({ name, dtype, shape: [-1, ...shape] });
const HOMES = [spec("age", "float64"), spec("rooms", "int32"), spec("zip", "bytes"), spec("sold", "bool")];

const serve = shareServer(() => {
  const taking = (inputs: typeof HOMES) => ({ driver: "null", hooks: { inputs, process: (given: Tensors) => given } });
  const kinds = taking([spec("n", "float32"), spec("c", "bytes")]);
  const any = { driver: "null", hooks: { process: (given: Tensors) => given } };
  return { models: { homes: taking(HOMES), points: taking([spec("x", "float32", 3)]), kinds, any } };
});

const ROW = { age: 31.5, rooms: 4, zip: "01234", sold: true };
const { zip: _, ...WITHOUT } = ROW;
const COLUMNS = Object.fromEntries(Object.entries(ROW).map(([name, value]) => [name, [value, value]]));
const KNOWN = "age, rooms, zip, sold";

async function ask(path: string, body: unknown) {
  const { httpUrl } = await serve();
  const isCsv = typeof body === "string";
  const headers = { "content-type": isCsv ? "text/csv" : "application/json" };
  const answer = await fetch(httpUrl + path, { method: "POST", headers, body: isCsv ? body : JSON.stringify(body) });
  return { status: answer.status, ...((await answer.json()) as { error?: string } & Partial<Hint>) };
}

/** The members of an error for programs. */
interface Hint {
  readonly reason: string;
  readonly field?: string;
  readonly expected?: string;
}

it.each<[string, unknown, string]>([
  ["that lacks a column", [ROW, WITHOUT], `Row 2 has no value for the column "zip"; expected ${KNOWN}.`],
  ["with another column", [{ ...ROW, balcony: 1 }], `Row 1 has the column "balcony"; expected ${KNOWN}.`],
  [
    "with a misspelt column",
    [ROW, { ...WITHOUT, zpi: "01234" }],
    `Row 2 has the column "zpi"; expected ${KNOWN}. Did you mean "zip"?`,
  ],
  [
    "with a text for a number",
    [ROW, { ...ROW, age: "old" }],
    'Row 2, "age": the value is "old"; expected a number (float64).',
  ],
  [
    "with a fraction for a whole number",
    [{ ...ROW, rooms: 4.5 }],
    'Row 1, "rooms": the value is 4.5; expected a whole number (int32).',
  ],
  ["with a number for a text", [ROW, { ...ROW, zip: 1234 }], 'Row 2, "zip": the value is 1234; expected a text.'],
  ["with a text for truth", [{ ...ROW, sold: "yes" }], 'Row 1, "sold": the value is "yes"; expected true or false.'],
  [
    "with null for a number",
    [ROW, { ...ROW, age: null }],
    'Row 2, "age": the value is missing (null); expected a number (float64).',
  ],
  ["with null for a text", [{ ...ROW, zip: null }], 'Row 1, "zip": the value is missing (null); expected a text.'],
  [
    "with a list for a value",
    [ROW, { ...ROW, age: [31.5] }],
    'Row 2, "age": the value is a list of 1; expected one value, as in row 1.',
  ],
  [
    "with an object for a number",
    [{ ...ROW, age: { years: 31 } }],
    'Row 1, "age": the value is an object; expected a number (float64).',
  ],
  [
    "with an object for a text",
    [ROW, { ...ROW, zip: { code: 1 } }],
    'Row 2, "zip": the value is an object; expected a text, or bytes as {"b64": BASE64}.',
  ],
  ["that is a list below an object", [ROW, Object.values(ROW)], "Row 2 has no names; expected an object with a value"],
  ["without names", [Object.values(ROW)], `The rows have no names, and the model takes ${KNOWN}; send an object`],
  ["that is not there", [], `There are no rows; expected one at least, with a value for each of ${KNOWN}.`],
  [
    "below many",
    [...new Array(20_000).fill(ROW), { ...ROW, age: "old" }],
    'Row 20001, "age": the value is "old"; expected a number (float64).',
  ],
])("a row %s is refused by its number", async (__, rows, message) => {
  expect(await ask("/predict/homes", rows)).toMatchObject({ status: 400, error: expect.stringContaining(message) });
});

it.each<[string, unknown, string]>([
  ["with a text among numbers", { ...COLUMNS, age: [1, "old"] }, 'Row 2, "age": the value is "old"; expected a number'],
  ["with null among texts", { ...COLUMNS, zip: ["01234", null] }, 'Row 2, "zip": the value is missing (null);'],
  ["with a list among numbers", { ...COLUMNS, age: [1, [2]] }, 'Row 2, "age": the value is a list; expected one value'],
  [
    "with an object among texts",
    { ...COLUMNS, zip: ["a", { b: 1 }] },
    'Row 2, "zip": the value is an object; expected a text',
  ],
  ["that is one text for a number", { ...ROW, age: "old" }, '"age": the value is "old"; expected a number (float64).'],
  [
    "that is misspelt",
    { ...COLUMNS, zip: undefined, zpi: ["a", "b"] },
    `"zip" is missing; expected ${KNOWN}. There is "zpi", which the model does not know.`,
  ],
  [
    "that is not there, of MLflow's frames,",
    { dataframe_split: { columns: ["age"], data: [[1]] } },
    `"rooms" is missing; expected ${KNOWN}.`,
  ],
])("a column %s is refused with its name", async (__, columns, message) => {
  expect(await ask("/predict/homes", columns)).toMatchObject({ status: 400, error: expect.stringContaining(message) });
});

const NAMES = "age,rooms,zip,sold\n";
const LINE = "31.5,4,01234,true\n";

it.each<[string, string, string]>([
  [
    "with a text for a number",
    `${NAMES}${LINE}old,4,01234,true`,
    'Row 2, "age": the value is "old"; expected a number (float64).',
  ],
  [
    "with an empty field for a whole number",
    `${NAMES}${LINE}1,,01234,true`,
    'Row 2, "rooms": the value is missing (null); expected a whole number (int32).',
  ],
  ["without a column", "age,rooms,sold\n1,4,true", `"zip" is missing; expected ${KNOWN}.`],
  ["with a misspelt column", "age,rooms,zpi,sold\n1,4,2,true", 'There is "zpi", which the model does not know.'],
  ["with a short line", `${NAMES}${LINE}1,4,01234`, "Line 3 of the CSV has 3 columns; the first row has 4."],
  ["with names alone", NAMES, "There are only the names of the features; expected rows behind them."],
  ["of nothing", "", "The body has no rows; send one line for each row."],
])("CSV %s is refused with its place", async (__, csv, message) => {
  for (const path of ["/predict/homes", "/invocations"])
    expect(await ask(path, csv), path).toMatchObject({ status: 400, error: expect.stringContaining(message) });
});

it("words that are missing or infinite numbers are such below names, for declared inputs and for hooks without any", async () => {
  const { httpUrl } = await serve();
  const read = async (path: string, body: string) => {
    const answer = await fetch(httpUrl + path, { method: "POST", headers: { "content-type": "text/csv" }, body });
    return (await answer.text()).replaceAll(/\s/g, "");
  };
  const lines = "inf,b\n-inf,b\nnan,b\n,b\n";
  // JSON's largest floats, and null.
  const expected = '{"n":[3.40282347e+38,-3.40282347e+38,null,null],"c":["b","b","b","b"]}';
  expect(await read("/predict/kinds", `n,c\n${lines}`)).toBe(expected);
  expect(await read("/predict/any", "a,b\nnan,2\n1,3\n")).toBe('{"a":[null,1.0],"b":[2,3]}');
});

it.each<[string, unknown, string]>([
  [
    "of another length",
    [
      [1, 2, 3],
      [1, 2],
    ],
    "Row 2: the value is a list of 2; expected a list of 3, as in row 1.",
  ],
  [
    "with a text",
    [
      [1, 2, 3],
      [1, "a", 3],
    ],
    'Row 2: value 2 is "a"; expected a number (float32).',
  ],
  ["with null", [[1, null, 3]], "Row 1: value 2 is missing (null); expected a number (float32)."],
  ["that is an object", [[1, 2, 3], ROW], "Row 2 is an object; expected values without names, as in row 1."],
  ["with a text in a named list", [{ x: [1, "a", 3] }], 'Row 1, "x": value 2 is "a"; expected a number (float32).'],
  ["of CSV with a text", "1,2,3\n1,old,3", 'Row 2: value 2 is "old"; expected a number (float32).'],
  ["that is not there", [], "There are no rows; expected one at least."],
])("a row %s for the only input is refused by its number", async (__, rows, message) => {
  expect(await ask("/predict/points", rows)).toMatchObject({ status: 400, error: expect.stringContaining(message) });
});

it("programs are told the column, what is expected and what was meant", async () => {
  expect(await ask("/predict/homes", [ROW, { ...ROW, age: "old" }])).toMatchObject({
    ...{ reason: "WRONG_DTYPE", field: "age", expected: "float64" },
  });
  expect(await ask("/predict/homes", [{ ...WITHOUT, zpi: "a" }])).toMatchObject({
    ...{ reason: "UNKNOWN_INPUT", field: "zpi", expected: KNOWN, did_you_mean: "zip" },
  });
  expect(await ask("/predict/homes", [WITHOUT])).toMatchObject({ reason: "MISSING_INPUT", field: "zip" });
});

it.each<[string, string, unknown, Hint]>([
  [
    "rows of several lengths",
    "points",
    [
      [1, 2, 3],
      [1, 2],
    ],
    { reason: "WRONG_SHAPE", expected: "[3]" },
  ],
  ["lines of several lengths", "points", "1,2,3\n1,2\n", { reason: "WRONG_SHAPE", expected: "[3]" }],
  [
    "a frame with a short row",
    "homes",
    { dataframe_split: { columns: ["age", "zip"], data: [[1]] } },
    { reason: "WRONG_SHAPE", expected: "[2]" },
  ],
  ["a row without names", "homes", [ROW, 1], { reason: "MISSING_INPUT", field: "age", expected: KNOWN }],
  ["rows without names", "homes", [[1]], { reason: "MISSING_INPUT", field: "age", expected: KNOWN }],
  ["a row with names", "points", [[1, 2, 3], ROW], { reason: "WRONG_SHAPE", field: "x" }],
  ["no rows", "homes", [], { reason: "MISSING_INPUT", field: "age", expected: KNOWN }],
  [
    "an object among texts",
    "homes",
    { ...COLUMNS, zip: ["a", { b: 1 }] },
    { reason: "WRONG_DTYPE", field: "zip", expected: "bytes" },
  ],
])("programs are told what is wrong with %s", async (_, model, body, hint) => {
  const { reason, field, expected }: Partial<Hint> = await ask(`/predict/${model}`, body);
  expect({ reason, field, expected }).toEqual({ field: undefined, expected: undefined, ...hint });
});

it("TensorFlow Serving's own route keeps its texts", async () => {
  expect(await ask("/v1/models/homes:predict", { instances: [ROW, { ...ROW, age: "old" }] })).toEqual({
    status: 400,
    error: `Failed to process element: 1 key: age of 'instances' list. Error: INVALID_ARGUMENT: JSON Value: "old" Type: String is not of expected type: double`,
  });
});
