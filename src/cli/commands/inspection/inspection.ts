import type { FileFacts, WeightCount } from "../../../inspection/file-facts.ts";
import { knownInputs, type Signature } from "../../../signature/signature.ts";
import { toColumns } from "../../../text/columns.ts";
import { sizeText } from "../../../text/size-text.ts";
import { flowText } from "../../status-reporter/model-table.ts";
import type { DriverTrial } from "./driver-trials.ts";

/** Operators that are listed, the most frequent ones first. */
const MAX_OPERATORS = 40;

/** Characters of a metadata value that are shown; --json has all of it. */
const MAX_VALUE = 100;

/** Everything that `kserving inspect` has found about a model. */
export interface Inspection {
  readonly path: string;
  /** Of its files. */
  readonly bytes: number;
  readonly facts: FileFacts;
  /** Memory that one copy is expected to take; absent if no driver is known. */
  readonly memoryBytes?: number;
  /** Empty if nothing was to be loaded. */
  readonly trials: readonly DriverTrial[];
}

/** The inspection as JSON. */
export function toPlainInspection({ facts, trials, ...rest }: Inspection): object {
  const { operators, weights, ...others } = facts;
  return {
    ...rest,
    ...others,
    ...(operators && { operators: Object.fromEntries(operators) }),
    ...(weights && { weights: Object.fromEntries(weights) }),
    signatures: trials.find(({ signatures }) => signatures !== undefined)?.signatures ?? {},
    drivers: trials.map(({ signatures, ...trial }) => ({ ...trial, runs: signatures !== undefined })),
  };
}

/** An inspection for people. */
export function toInspectionLines({ path, bytes, facts, memoryBytes, trials }: Inspection): string[] {
  const { format, producer, metadata } = facts;
  const rows = [
    ["Format", format],
    ...(producer === undefined ? [] : [["Producer", producer]]),
    ["Size", sizeText(bytes)],
    ...(memoryBytes === undefined ? [] : [["Memory", `about ${sizeText(memoryBytes)} for each copy`]]),
    ...Object.entries(metadata).map(([name, value]) => [name, shorten(value)]),
  ];
  const signatures = trials.find((trial) => trial.signatures !== undefined)?.signatures ?? {};
  return [
    path,
    ...indent(toColumns(rows)),
    ...titled("Signatures", signatureRows(signatures)),
    ...operatorLines(facts),
    ...titled("Weights and constants", weightRows(facts.weights)),
    ...titled("Drivers", trials.map(toTrialRow)),
  ];
}

function titled(title: string, rows: readonly (readonly string[])[]): string[] {
  return rows.length === 0 ? [] : ["", title, ...indent(toColumns(rows))];
}

function signatureRows(signatures: Readonly<Record<string, Signature>>): string[][] {
  return Object.entries(signatures).map(([name, signature]) => {
    const flow = { inputs: knownInputs(signature), outputs: signature.outputs };
    return [name, flowText(flow)];
  });
}

function operatorLines({ operators }: FileFacts): string[] {
  if (operators === undefined || operators.size === 0) return [];
  const counted = [...operators].toSorted(([a, m], [b, n]) => n - m || a.localeCompare(b));
  const total = counted.reduce((sum, [, count]) => sum + count, 0);
  const rows = counted.slice(0, MAX_OPERATORS).map(([name, count]) => [name, String(count)]);
  const rest = counted.length > MAX_OPERATORS ? [`  and ${counted.length - MAX_OPERATORS} more kinds`] : [];
  return ["", `Operators (${total}, of ${counted.length} kinds)`, ...indent(toColumns(rows)), ...rest];
}

function weightRows(weights: ReadonlyMap<string, WeightCount> = new Map()): string[][] {
  const all = [...weights].toSorted(([, a], [, b]) => b.bytes - a.bytes);
  return all.map(([type, { tensors, elements, bytes }]) => [
    type,
    `${tensors} ${tensors === 1 ? "tensor" : "tensors"}`,
    `${elements.toLocaleString("en")} values`,
    sizeText(bytes),
  ]);
}

function toTrialRow({ driver, problem, runtime = "", loadMs = 0 }: DriverTrial): string[] {
  if (problem !== undefined) return [driver, `refuses: ${problem}`];
  return [driver, `runs: ${runtime === "" ? "" : `${runtime}, `}loaded in ${Math.round(loadMs)} ms`];
}

function indent(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}

function shorten(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > MAX_VALUE ? `${line.slice(0, MAX_VALUE)}… (${text.length} characters)` : line;
}
