import type { AttackRow } from "./attack-row.ts";
import { bodyRow, type HostileBody } from "./body-row.ts";
import { repeated } from "./protobuf.ts";

const MB = 1024 * 1024;
const CSV = { "content-type": "text/csv" };

/** Tables as text, by what they have much of. */
const SHEETS: Readonly<Record<string, () => Buffer>> = {
  rows: () => Buffer.concat([Buffer.from("x\n"), repeated("1\n", 2 * MB)]),
  columns: () => Buffer.from(`${numbered(300_000).join(",")}\n${"1,".repeat(299_999)}1\n`),
  cells: () => Buffer.concat([Buffer.from("x,y,z\n"), repeated("1,2,3\n", MB)]),
  quotes: () => Buffer.concat([Buffer.from("x\n"), repeated('"', 20 * MB)]),
  "open-quote": () => Buffer.concat([Buffer.from('x\n"'), repeated("a\n", 10 * MB)]),
  lines: () => repeated("\r\n", 10 * MB),
  commas: () => Buffer.concat([Buffer.from("x\n"), repeated(",", 20 * MB)]),
  "long-cell": () => Buffer.concat([Buffer.from("x\n"), repeated("9", 40 * MB)]),
  "same-names": () => Buffer.concat([repeated("x,", 100_000), Buffer.from("x\n1\n")]),
};

function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `c${index}`);
}

/** MLflow's form of a data frame. */
const FRAMES: Readonly<Record<string, () => Buffer | object>> = {
  columns: () => frame(numbered(100_000), [Array(100_000).fill(1)]),
  rows: () => frame(["x"], Array(2_000_000).fill([1])),
  ragged: () => frame(["x", "y"], [...Array(1_000_000).fill([1, 2]), [1]]),
  "same-names": () => frame(Array(100_000).fill("x"), [Array(100_000).fill(1)]),
  "empty-rows": () => frame([], Array(2_000_000).fill([])),
  texts: () => frame(["x"], Array(500_000).fill(["\u0001".repeat(10)])),
  deep: () => Buffer.from(`{"dataframe_split":{"columns":["x"],"data":[[${"[".repeat(MB)}`),
  records: () => ({ dataframe_records: Array(500_000).fill({ x: 1, y: 2 }) }),
};

function frame(columns: readonly unknown[], data: readonly unknown[]): object {
  return { dataframe_split: { columns, data } };
}

/** Rows that the forms of tables take, on the routes that take them. */
export const TABLE_ROWS: readonly AttackRow[] = [
  ...Object.entries(SHEETS).map(([name, body]) => rowOf({ name: `csv-${name}`, path: "/predict", body, headers: CSV })),
  ...Object.entries(FRAMES).map(([name, body]) => rowOf({ name: `frame-${name}`, path: "/invocations", body })),
  rowOf({ name: "invocations-cells", path: "/invocations", body: SHEETS.cells as () => Buffer, headers: CSV }),
  rowOf({ name: "plain-rows", path: "/predict", body: () => Array(1_000_000).fill({ x: 1 }) }),
  rowOf({ name: "plain-keys", path: "/predict", body: () => keys(500_000) }),
];

function keys(count: number): object {
  return Object.fromEntries(numbered(count).map((name) => [name, 1]));
}

function rowOf(body: HostileBody): AttackRow {
  return bodyRow("null", { ...body, name: `table-${body.name}` });
}
