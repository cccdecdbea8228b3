import type { StageSummary } from "../../server/stage-summary.ts";
import type { Dimension, LooseSpec } from "../../tensor/signature/signature.ts";

/** Inputs and outputs of a model or stage; undefined = any. */
export interface Flow {
  readonly inputs: readonly LooseSpec[] | undefined;
  readonly outputs: readonly LooseSpec[] | undefined;
  /** True if its answers come in parts; absent = they do not, or it is not known. */
  readonly decoupled?: boolean | undefined;
}

/** One version of a named model, for the people who started the server. */
export interface ModelSummary extends Flow {
  readonly name: string;
  readonly version: string;
  /** Drivers of its stages; empty if it is not loaded. */
  readonly drivers: readonly string[];
  /** In TensorFlow Serving's words. */
  readonly state: string;
  /** The reason why it does not answer; empty if it does. */
  readonly problem: string;
}

const MODEL_HEADINGS = ["Model", "Version", "Driver", "Inputs → outputs", "State"] as const;
const GAP = "  ";
const MIN_WIDTH = 24;

/** A space at which no line is broken. */
export const FIRM_SPACE = "\u00a0";

/** Features of one input that are named. */
const MOST_FEATURES = 8;

/** The column of inputs and outputs, in both tables. */
const WRAPPED = 3;

/** The models as a table for a terminal of so many columns, and below it the reasons of those that do not answer. */
export function toModelTable(models: readonly ModelSummary[], columns: number): string {
  const table = toWrappedTable([MODEL_HEADINGS, ...models.map(modelCells)], WRAPPED, columns);
  const problems = models.flatMap(({ name, version, problem }) =>
    problem === "" ? [] : [`  ${name} version ${version}: ${problem}`],
  );
  return [table, ...(problems.length === 0 ? [] : ["", ...problems])].join("\n");
}

function modelCells({ name, version, drivers, state, problem, ...flow }: ModelSummary): readonly string[] {
  return [name, version, drivers.join(" → ") || "-", problem === "" ? flowText(flow) : "-", state];
}

const STAGE_HEADINGS = ["#", "Driver", "Model", "Inputs → outputs", "Loaded in"] as const;

/**
 * The stages as a table for a terminal of so many columns; too long lists of inputs and outputs go on in further lines.
 */
export function toStartTable(stages: readonly StageSummary[], columns: number): string {
  return toWrappedTable([STAGE_HEADINGS, ...stages.map(stageCells)], WRAPPED, columns);
}

function stageCells({ index, driver, path, loadMs, ...flow }: StageSummary): readonly string[] {
  return [String(index), driver, path === "" ? "-" : path, flowText(flow), `${Math.round(loadMs)} ms`];
}

/**
 * Rows as a table for a terminal of so many columns, the first row the headings; cells of the column `wrapped` that are
 * too long go on in further lines.
 */
export function toWrappedTable(rows: readonly (readonly string[])[], wrapped: number, columns: number): string {
  const headings = rows[0] ?? [];
  const widths = headings.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const others = widths.reduce((sum, width, column) => sum + (column === wrapped ? 0 : width + GAP.length), GAP.length);
  widths[wrapped] = Math.min(widths[wrapped] ?? 0, Math.max(MIN_WIDTH, columns - others - 1));
  return rows.flatMap((row) => toLines(row, wrapped, widths)).join("\n");
}

function toLines(row: readonly string[], wrapped: number, widths: readonly number[]): string[] {
  const [first = "", ...more] = wrap(row[wrapped] ?? "", widths[wrapped] ?? 0);
  const line = row.map((cell, column) => (column === wrapped ? first : cell).padEnd(widths[column] ?? 0));
  const indent = " ".repeat(widths.slice(0, wrapped).reduce((sum, width) => sum + width + GAP.length, 0));
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

/** `x float32[?,64] → y float32[?]`, with `in parts` after it for a model that answers so. */
export function flowText({ inputs, outputs, decoupled = false }: Flow): string {
  return `${sideText(inputs)} → ${sideText(outputs)}${decoupled ? " in parts" : ""}`;
}

function sideText(specs: readonly LooseSpec[] | undefined): string {
  return specs === undefined ? "any" : specs.map(specText).join(", ");
}

/** `input_1 float32[?,64,64,1]`, any if the dtype is not known, with a space at which no line is broken. */
function specText({ name, dtype, shape, features }: LooseSpec): string {
  const sizes = shape === undefined ? "" : `[${shape.map(dimensionText).join()}]`;
  return `${name}${FIRM_SPACE}${dtype ?? "any"}${sizes}${features === undefined ? "" : featuresText(features)}`;
}

/** ` (width, height, 28 more)`. */
function featuresText(features: readonly string[]): string {
  const rest = features.length - MOST_FEATURES;
  return ` (${[...features.slice(0, MOST_FEATURES), ...(rest > 0 ? [`${rest} more`] : [])].join(", ")})`;
}

function dimensionText(dimension: Dimension): string {
  if (typeof dimension === "object") return `${dimension.min}..${dimension.max}`;
  return dimension === -1 ? "?" : String(dimension);
}
