import { cpus } from "node:os";
import { tableLines } from "../test/helpers/table.ts";
import { FIGURE_HEAD, type Figure, figureCells } from "./engine/figure.ts";

/** Prints the table of a benchmark, below what its figures are; `note` is what is special about them. */
export function printFigures(figures: readonly Figure[], rounds: number, note = ""): void {
  const [{ model = "unknown processor" } = {}] = cpus();
  console.log(`
Node ${process.version}, ${cpus().length} cores (${model.trim()}). Medians of ${rounds} rounds, the sides in alternating order; a figure is made of each
round's pair. A target is met when the 95 % interval reaches it. ${note}
`);
  for (const line of tableLines([FIGURE_HEAD, ...figures.map(figureCells)])) console.log(line);
}
