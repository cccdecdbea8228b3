import { expect, it } from "vitest";
import { csvValues, eachJsonRow } from "../../../src/tensor/codecs/csv-to-json-rows.ts";

const toRows = (text: string) => [...eachJsonRow(text)];

it.each([
  ["1,2.5\n-3e2,.5\n", ["[1,2.5]", "[-3e2,0.5]"]],
  ["1\r\n2\r\n\r\n3", ["1", "2", "3"]],
  ["\ufeff1,2", ["[1,2]"]],
  ["red, 1\nblue,2", ['["red",1]', '["blue",2]']],
  ['"1","a ""b"", c",\n"two\nlines",x,y', ['["1","a \\"b\\", c",""]', '["two\\nlines","x","y"]']],
  ["007,+1,1.", ["[7,1,1]"]],
  ['""', ['""']],
  ["1,,2.5\n", ["[1,NaN,2.5]"]],
  ["1,nan\nNaN,2\n, NA \n-inf,Infinity", ["[1,NaN]", "[NaN,2]", "[NaN,NaN]", "[-Infinity,Infinity]"]],
  ["nan\n1", ["NaN", "1"]],
  ["nan,", ["[NaN,NaN]"]],
  ["1,nan\n,red\n3,", ['[1,"nan"]', '[NaN,"red"]', '[3,""]']],
  [",red\n,blue", ['["","red"]', '["","blue"]']],
  ["a,b\nnan,2\n,inf\n", ['["a","b"]', "[NaN,2]", "[NaN,Infinity]"]],
  ["a,b\nnan,red\ninf,blue\n", ['["a","b"]', '[NaN,"red"]', '[Infinity,"blue"]']],
  ["a,b\nnan,red\n", ['["a","b"]', '["nan","red"]']],
  ["a,a\nnan,2\n", ['["a","a"]', '["nan",2]']],
  ['1,""\n2,3', ['[1,""]', "[2,3]"]],
  ["", []],
])("%j is the rows %j", (text, rows) => {
  expect(toRows(text)).toEqual(rows);
});

it.each([
  ["1,2\n3\n", "Line 2 of the CSV has 1 columns; the first row has 2."],
  ['"a\nb",1\nc\n', "Line 3 of the CSV has 1 columns"],
  ['1,"a\n', "Line 1 of the CSV has a quote that is not closed, or not alone."],
  ['1,2\n"a"b,2', "Line 2 of the CSV has a quote"],
])("%j is refused with its line", (text, message) => {
  expect(() => toRows(text)).toThrow(message);
});

const KNOWN = [
  { name: "age", kind: "number" },
  { name: "zip", kind: "text" },
  { name: "member", kind: "truth" },
] as const;

it.each([
  ["zip,age,member\n01234,1,True\n1.50,,0\n", ['["zip","age","member"]', '["01234",1,true]', '["1.50",null,false]']],
  ['7,"1",FALSE\ntrue,nan,1\n', ['[7,"1",false]', '[1,"nan",true]']],
  ["1,+7,\n2,8,yes\n", ['[1,"+7",null]', '[2,"8","yes"]']],
  ["1,2\n3,4\n", ["[1,2]", "[3,4]"]],
  [
    '"age","zip","member"\n"30.5","01234","1"\n"","",""\n',
    ['["age","zip","member"]', '[30.5,"01234",true]', '[null,"",null]'],
  ],
  ['" +7 ","1.50","TRUE"\n"old","1","0"\n', ['[7,"1.50",true]', '["old","1",false]']],
  [
    'age,zip,member\ninf,nan,nan\n"-inf",inf,0\nNA,NA,\n',
    ['["age","zip","member"]', '[Infinity,"nan",null]', '[-Infinity,"inf",false]', '[null,"NA",null]'],
  ],
])("%j is the rows %j of columns that are known", (text, rows) => {
  expect([...eachJsonRow(text, "null", KNOWN)]).toEqual(rows);
});

it("names of digits are names beside others that are known, and rows where all are digits", () => {
  const known = ["age", "2021", "7"].map((name) => ({ name, kind: "number" as const }));
  const read = (text: string) => [...eachJsonRow(text, "null", known)];
  expect(read("age,2021\n30,5\n")).toEqual(['["age","2021"]', "[30,5]"]);
  expect(read(",2021,age\n0,5,30\n")).toEqual(['[null,"2021","age"]', "[0,5,30]"]);
  expect(read('"",2021,age\n"1",5,30\n')).toEqual(['["","2021","age"]', '["1",5,30]']);
  expect(read("2021,7\n30,5\n")).toEqual(["[2021,7]", "[30,5]"]);
  expect(read("2021,\n30,5\n")).toEqual(["[2021,NaN]", "[30,5]"]);
  expect(read("age,2021,8\n30,5,1\n")).toEqual(['["age",2021,8]', "[30,5,1]"]);
});

it("a line of names stays one beside names that are not known, also where one is empty or fields are missing", () => {
  const read = (text: string) => [...eachJsonRow(text, "null", KNOWN)];
  expect(read(",age,zip,extra\n0,30,A1,1\n")).toEqual(['[null,"age","zip","extra"]', '[0,30,"A1",1]']);
  expect(read("age,zip,extra\n30,A1,\n,B2,1\n")).toEqual(['["age","zip","extra"]', '[30,"A1",NaN]', '[null,"B2",1]']);
});

it("a row whose digits are the name of a column keeps its place", () => {
  const known = [
    { name: "0", kind: "text" },
    { name: "1", kind: "number" },
  ] as const;
  expect([...eachJsonRow("1,0\n01,2\n", "null", known)]).toEqual(['["1",0]', '["01",2]']);
});

const ASSUMED = [
  { name: "age", kind: "assumed" },
  { name: "zip", kind: "assumed" },
] as const;

it.each([
  ["are texts beside a number without", '"age","zip"\n30,"01234"\n31,"98765"\n', '[30,"01234"] [31,"98765"]'],
  ["are texts in rows without names", '30,"98765"\n', '[30,"98765"]'],
  ["are numbers where all of the first row is quoted", '"age","zip"\n"30","7"\n"","8"\n', "[30,7] [null,8]"],
  ["are texts beside other texts there", '"30","7"\n"31","A12"\n', '[30,"7"] [31,"A12"]'],
  ["are texts beside a leading zero there", '"30","98765"\n"31","01234"\n', '[30,"98765"] [31,"01234"]'],
  ["are texts below a number", 'age,zip\n30,7\n"31","8"\n', '[30,7] ["31","8"]'],
  ["make a text of a word such as inf", 'age,zip\ninf,7\n"inf",nan\n', '["inf",7] ["inf",NaN]'],
  ["that are empty are missing", '30,""\n,"7"\n', '[30,null] [NaN,"7"]'],
])("quoted fields of columns that are assumed to be numbers %s", (_, text, rows) => {
  const [first = "", ...others] = eachJsonRow(text, "null", ASSUMED);
  expect((first.includes("age") ? others : [first, ...others]).join(" ")).toBe(rows);
});

it("a quoted number with a leading zero is a text in any column", () => {
  expect([...eachJsonRow('"007","1","0"\n', "null", KNOWN)]).toEqual(['["007","1",false]']);
});

it("quoted names of digits above quoted numbers are names", () => {
  const known = ["0", "1"].map((name) => ({ name, kind: "number" as const }));
  expect([...eachJsonRow('"1","0"\n"2.5","3"\n', "null", known)]).toEqual(['["1","0"]', "[2.5,3]"]);
});

it.each([
  [
    '1,\n-inf,"NaN"\n,b\n',
    [
      [1, ""],
      [Number.NEGATIVE_INFINITY, "NaN"],
      [Number.NaN, "b"],
    ],
  ],
  ["1\nnan\n", [1, Number.NaN]],
  ["red\n,\n", undefined],
])("%j has plain values, also those that JSON does not have", (text, values) => {
  if (values === undefined) expect(() => csvValues(text)).toThrow("Line 2 of the CSV has 2 columns");
  else expect(csvValues(text)).toEqual(values);
});

it("a quoted field of ten million characters is read", () => {
  expect(toRows(`"${'""'.repeat(5_000_000)}"`)[0]).toHaveLength(10_000_002);
});

it("a field of digits that is no number takes time in proportion to its length", () => {
  const field = `${"1".repeat(1_000_000)}x`;
  // Quadratic time would be longer than a test may take.
  expect(toRows(field)).toEqual([JSON.stringify(field)]);
});

it("more columns than there is memory for are refused", () => {
  expect(() => toRows("1,".repeat(8 * 1024 * 1024))).toThrow("Line 1 of the CSV has more than 8388608 columns");
});
