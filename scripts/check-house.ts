/**
 * Measures the sources by the compiler's syntax tree, prints the table of what they are and what they are to be, and
 * fails where a figure has become worse than its bound: `npm run check -- house`. Lower a bound once its figure is
 * lower. With --list it also prints the small files that belong to the file beside them that imports them.
 */
import { tableLines } from "../test/helpers/table.ts";
import { MEASURES, smallNeighbours, toHouse } from "./house/measures.ts";
import { readSources } from "./house/read-sources.ts";

const house = toHouse(readSources("src"));
const measured = MEASURES.map((measure) => ({ ...measure, value: measure.figure(house) }));
const rows = measured.map(({ point, value, bound, goal, atLeast }) => [
  point,
  String(value),
  `${atLeast ? "≥" : "≤"} ${bound}`,
  `${atLeast ? "≥" : "≤"} ${goal}`,
]);
console.log(tableLines([["point", "today", "bound", "goal"], ...rows]).join("\n"));
if (process.argv.includes("--list")) console.log(["", ...smallNeighbours(house)].join("\n"));

const passed = measured.filter(({ value, bound, atLeast }) => (atLeast ? value < bound : value > bound));
for (const { point, value, bound } of passed) console.error(`${point}: ${value}, where the bound is ${bound}`);
if (passed.length > 0) process.exitCode = 1;
