import { expect, it } from "vitest";
import { type BodyForm, bodyForm, toPredictBody } from "../../../src/protocols/sagemaker/http-codec.ts";

const body = (text: string, form: BodyForm) =>
  Buffer.from(toPredictBody(Buffer.from(text), form, 1000).json).toString();

it.each([
  ["a request of the REST API stays", '{"instances" : [1]}', "json", '{"instances" : [1]}'],
  ["a request behind other members stays", '{"signature_name":"s","inputs":{"x":1}}', "json", undefined],
  ["examples stay", '{"examples":[{"x":1}]}', "lines", undefined],
  ["an object is one instance", '{"x":[1,2]}', "json", '{"instances":[{"x":[1,2]}]}'],
  ["a list is one instance", "[1,2]", "json", '{"instances":[[1,2]]}'],
  ["a list of lists is the instances", " [[1,2],[3,4]]", "json", '{"instances": [[1,2],[3,4]]}'],
  ["a text that says instances is one instance", '["instances"]', "json", '{"instances":[["instances"]]}'],
  ["lines of JSON are instances", "[1]\n[2]\n", "json", '{"instances":[[1],[2]\n]}'],
  [
    "the name of a data frame further in is none",
    '{"x":{"dataframe_split":1},"y":2}',
    "json",
    '{"instances":[{"x":{"dataframe_split":1},"y":2}]}',
  ],
  [
    "an object of several lines is one instance",
    '{\n"x":"a] [b\\"} {"}',
    "json",
    '{"instances":[{\n"x":"a] [b\\"} {"}]}',
  ],
  ["so is a list of texts", '[\n"} {", "]\\n["]\n', "json", '{"instances":[[\n"} {", "]\\n["]\n]}'],
  ["a single line is an instance", "[1,2]", "lines", '{"instances":[[1,2]]}'],
  ["empty lines are none", '{"x":1}\r\n\r\n{"x":2}', "lines", '{"instances":[{"x":1}\r,\r\n{"x":2}]}'],
  [
    "a data frame of MLflow has an input for each column, with the source of their numbers",
    '{"dataframe_split": {"index": [7], "data": [ [9007199254740993 , "a\\"],[",[1,{}]], [0 ,null, 2 ]] , "columns": ["x", "y,", 2]}}',
    "json",
    '{"inputs":{"x":[9007199254740993,0],"y,":["a\\"],[",null],"2":[[1,{}],2]}}',
  ],
  [
    "its records are instances",
    ' {"dataframe_records": [{"inputs": 1}, {"inputs": null}]}',
    "json",
    '{"instances":[{"inputs": 1},{"inputs": null}]}',
  ],
  ["rows of CSV are instances", "1,2\n3,4", "csv", '{"instances":[[1,2],[3,4]]}'],
] as const)("%s", (_, text, form, expected) => {
  expect(body(text, form)).toBe(expected ?? text);
});

it.each([
  ["\n", "csv", "The body has no rows"],
  [" \n\n", "lines", "The body has no rows"],
  ["1,2\n3", "csv", "Line 2 of the CSV"],
  ['{"dataframe_split": {"data": [[1]]}}', "json", "dataframe_split has no list of columns"],
  ['{"dataframe_split": {"columns": ["a"]}}', "json", "dataframe_split has no list of data"],
  ['{"dataframe_split": {"columns": ["a"], "data": [[1], 2]}}', "json", "row 2 of dataframe_split is no list"],
  [
    '{"dataframe_split": {"columns": ["a"], "data": [[1, 2]]}}',
    "json",
    "row 1 of dataframe_split has 2 values for 1 columns",
  ],
  [
    '{"dataframe_split": {"columns": ["a", "b"], "data": [[1]]}}',
    "json",
    "row 1 of dataframe_split has 1 values for 2",
  ],
  ['{"dataframe_split": {"columns": [null], "data": [[1]]}}', "json", "a column of dataframe_split has no name"],
  ['{"dataframe_split": {"columns": ["a"], "data": [[1', "json", "The data frame is malformed"],
  ['{"dataframe_split": {"columns": ["a"], "data": [[1]}}', "json", "dataframe_split is not all of the body"],
  ['{"params": {"n": 1}, "dataframe_split": {}}', "json", '"params" beside dataframe_split is not taken'],
  ['{"dataframe_records": [{"x": 1}], "params": {}}', "json", '"params" beside dataframe_records is not taken'],
  ['{"dataframe_records": [{"x": 1}]', "json", "dataframe_records is not all of the body"],
  ['{"dataframe_records": [{"x": 1}]}\n{"dataframe_records": []}', "json", "dataframe_records is not all of the body"],
  ['{"dataframe_split": [', "json", "dataframe_split is not all of the body"],
  ['{"dataframe_split": []}', "json", "dataframe_split has no list of columns"],
  ['\n{"dataframe_records": {"x": [1]}}', "json", "dataframe_records is not a list of rows"],
  ['{"dataframe_records": []}', "json", "The body has no rows"],
] as const)("%j as %s is refused", (text, form, message) => {
  expect(() => body(text, form)).toThrow(message);
});

it.each(["csv", "lines"] as const)("text in another encoding is refused as %s", (form) => {
  for (const bytes of [Buffer.from('"caf\xe9"', "latin1"), Buffer.from("\ufeff1\n2", "utf16le")]) {
    expect(() => toPredictBody(bytes, form, 1000)).toThrow("The body is not UTF-8");
  }
});

it("rows that are joined in several pieces are all there, as far as they are allowed", () => {
  const short = toPredictBody(Buffer.from("1\n".repeat(3000)), "csv", 24_000);
  expect(Buffer.from(short.json).toString()).toBe(`{"instances":[${Array(3000).fill(1).join(",")}]}`);
  expect(() => toPredictBody(Buffer.from("1\n".repeat(3001)), "csv", 24_000)).toThrow("more than 24000 bytes");
  const [row, bytes] = [`1${"2".repeat(400_000)}`, Buffer.from(`\n1${"2".repeat(400_000)}`.repeat(7))];
  const { json } = toPredictBody(bytes, "csv", 3_000_000);
  expect(Buffer.from(json).toString()).toBe(`{"instances":[${Array(7).fill(row).join(",")}]}`);
  expect(() => toPredictBody(bytes, "csv", 2_000_000)).toThrow("The rows take more than 2000000 bytes in memory");
});

it("a long name of a column is written once, and not for each row", () => {
  const [columns, rows] = [["n".repeat(10_000)], Array.from({ length: 1000 }, () => [1])];
  const text = JSON.stringify({ dataframe_split: { columns, data: rows } });
  const { json } = toPredictBody(Buffer.from(text), "json", 1_000_000);
  expect(JSON.parse(Buffer.from(json).toString())).toEqual({ inputs: { [columns[0] ?? ""]: rows.flat() } });
  expect(json.length).toBeLessThan(text.length);
});

it("other media types have no such form", () => {
  expect(["text/csv", "image/png", "__proto__"].map(bodyForm)).toEqual(["csv", undefined, undefined]);
});
