import type { StageSummary } from "../../server/server.ts";
import type { Dimension, LooseSpec } from "../../signature/signature.ts";

const HEADINGS = ["#", "Driver", "Model", "Inputs → outputs", "Loaded in"] as const;
const GAP = "  ";
const FIRM_SPACE = "\u00a0";

/** The stages as a table for a terminal of so many columns; too long lists of inputs and outputs go on in further lines. */
export function toStartTable(stages: readonly StageSummary[], columns: number): string {
  const rows = [HEADINGS, ...stages.map(toCells)];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const others = widths.reduce((sum, width, column) => sum + (column === 3 ? 0 : width + GAP.length), GAP.length);
  const room = Math.max(24, columns - others - 1);
  widths[3] = Math.min(widths[3] ?? 0, room);
  return rows.flatMap((row) => toLines(row, widths)).join("\n");
}

function toCells({ index, driver, path, inputs, outputs, loadMs }: StageSummary): readonly string[] {
  const flow = `${sideText(inputs)} → ${sideText(outputs)}`;
  return [String(index), driver, path === "" ? "-" : path, flow, `${Math.round(loadMs)} ms`];
}

function sideText(specs: readonly LooseSpec[] | undefined): string {
  return specs === undefined ? "any" : specs.map(specText).join(", ");
}

/** `input_1 float32[?,64,64,1]`, any where the dtype is not known, with a space at which no line is broken. */
function specText({ name, dtype, shape }: LooseSpec): string {
  return `${name}${FIRM_SPACE}${dtype ?? "any"}${shape === undefined ? "" : `[${shape.map(dimensionText).join()}]`}`;
}

function dimensionText(dimension: Dimension): string {
  if (typeof dimension === "object") return `${dimension.min}..${dimension.max}`;
  return dimension === -1 ? "?" : String(dimension);
}

function toLines(row: readonly string[], widths: readonly number[]): string[] {
  const [first = "", ...more] = wrap(row[3] ?? "", widths[3] ?? 0);
  const line = [...row.slice(0, 3), first, ...row.slice(4)].map((cell, column) => cell.padEnd(widths[column] ?? 0));
  const indent = " ".repeat(widths.slice(0, 3).reduce((sum, width) => sum + width + GAP.length, 0));
  return [line.join(GAP), ...more.map((text) => indent + text)].map((text) =>
    `${GAP}${text.replaceAll(FIRM_SPACE, " ")}`.trimEnd(),
  );
}

/** Breaks between words; a word longer than the width stands alone. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
