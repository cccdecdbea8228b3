import { describe, expect, test } from "vitest";
import { firstRow, rangeOfCategories, readRows, rowsInOrder, toTableTensors } from "../../src/page/table-values.ts";
import type { PageColumn, PageTable, PageTensor } from "../../src/protocols/page/page-data.ts";

const COLUMNS: readonly PageColumn[] = [
  { name: "age", datatype: "FP64" },
  { name: "city", datatype: "BYTES", categories: ["Paris", "Rome"] },
  { name: "rooms", datatype: "INT64" },
];
const TABLE: PageTable = { columns: COLUMNS, knowsMissingTexts: true };
const tensor = (name: string, datatype: string, shape: readonly number[]): PageTensor => ({
  ...{ name, datatype, shape },
  takesImages: false,
  isForImages: false,
  isOptional: false,
});
const INPUTS = COLUMNS.map(({ name, datatype }) => tensor(name, datatype, [-1]));

describe("the rows of a table", () => {
  test("are an input for each column, with missing values", () => {
    const [age, city, rooms] = toTableTensors(INPUTS, TABLE, [
      ["30.5", "Rome", "4"],
      ["", "", "9007199254740993"],
    ]);
    expect(age).toEqual({ name: "age", datatype: "FP64", shape: [2], values: [30.5, Number.NaN] });
    expect(city).toEqual({ name: "city", datatype: "BYTES", shape: [2], values: ["Rome", Uint8Array.of(0xff)] });
    expect(rooms?.values).toEqual([4n, 9007199254740993n]);
  });

  test("have empty texts for a model that does not know missing ones, in its shape", () => {
    const columns = [{ name: "city", datatype: "BYTES" }];
    const table = { columns, knowsMissingTexts: false };
    const [city] = toTableTensors([tensor("city", "BYTES", [-1, 1])], table, [[""], ["Rome"]]);
    expect(city).toEqual({ name: "city", datatype: "BYTES", shape: [2, 1], values: ["", "Rome"] });
  });

  test("are one input with all columns for a model of rows", () => {
    const columns = ["a", "b"].map((name) => ({ name, datatype: "FP32" }));
    const inputs = [tensor("input", "FP32", [-1, 2])];
    const rows = [
      ["1", "2"],
      ["3", "4"],
    ];
    expect(toTableTensors(inputs, { columns, knowsMissingTexts: true }, rows)).toEqual([
      { name: "input", datatype: "FP32", shape: [2, 2], values: [1, 2, 3, 4] },
    ]);
  });

  test.each([
    [["old", "Rome", "4"], 'Row 1, age: "old" is not FP64; expected a number.'],
    [["30", "Rome", ""], "Row 1, rooms: INT64 has no form for a missing value; write one."],
    [["30", "Rome", "4.5"], "Row 1, rooms: 4.5 is not INT64; expected a whole number."],
  ])("%j are refused with the place", (row, message) => {
    expect(() => toTableTensors(INPUTS, TABLE, [row])).toThrow(message);
  });

  test("begin with what the server has found", () => {
    const columns = [...COLUMNS, { name: "new", datatype: "BOOL" }];
    const found = [
      { name: "city", shape: [1], element: "Paris" },
      { name: "age", shape: [1], element: 0.5 },
      { name: "new", shape: [1], element: 1 },
    ];
    expect(firstRow(columns, found)).toEqual(["0.5", "Paris", "0", "true"]);
    expect(firstRow(columns.slice(0, 2), [{ name: "input", shape: [1, 2], element: 7 }])).toEqual(["7", "7"]);
  });

  test("are brought into the order of the columns", () => {
    expect(rowsInOrder({ names: ["city", "age"], rows: [["Rome", "1"]] }, COLUMNS)).toEqual([["1", "Rome", ""]]);
  });
});

describe("pasted rows", () => {
  test("are CSV with names in any order, or without them in the columns' order", () => {
    expect(readRows('city,id,age,rooms\r\n"Rome, centre",1,30.5,4\n,2,nan,3\n', TABLE)).toEqual({
      rows: [
        ["30.5", "Rome, centre", "4"],
        ["", "", "3"],
      ],
      unknown: ["id"],
    });
    expect(readRows("30.5,Rome,4", TABLE)).toEqual({ rows: [["30.5", "Rome", "4"]], unknown: [] });
  });

  test("may come from a spreadsheet", () => {
    expect(readRows("age\tcity\trooms\n30,5\tRome\t4\n", TABLE).rows).toEqual([["30,5", "Rome", "4"]]);
  });

  test("keep texts such as NA for a model that does not know missing ones", () => {
    const table = { columns: COLUMNS, knowsMissingTexts: false };
    expect(readRows("NA,NA,4", table).rows).toEqual([["", "NA", "4"]]);
  });

  test.each([
    ["", "There are no rows; expected a line for each, with age, city, rooms."],
    ["age,city,rooms\n", "There are no rows"],
    ["age,city\n1,Rome\n", "The rows lack rooms; expected age, city, rooms."],
    ["1,Rome,4\n2,Rome\n", "Row 2 has 2 values; expected 3: age, city, rooms."],
    ['1,"Rome,4\n', "a quote that is not closed"],
    ["1,Rome,4\n".repeat(10_001), "There are 10001 rows; the form takes up to 10000."],
  ])("%j are refused with what is expected", (text, message) => {
    expect(() => readRows(text, TABLE)).toThrow(message);
  });
});

test("a slider is for known values that are whole numbers without a gap", () => {
  const column = (...categories: (string | number)[]) => ({ name: "n", datatype: "FP64", categories });
  expect(rangeOfCategories(column(3, 1, 2))).toEqual([1, 3]);
  for (const other of [column(1, 2), column(1, 2, 4), column(0.5, 1.5, 2.5), { name: "n", datatype: "FP64" }])
    expect(rangeOfCategories(other)).toBeUndefined();
  expect(rangeOfCategories({ ...column("1", "2", "3"), datatype: "BYTES" })).toBeUndefined();
});
