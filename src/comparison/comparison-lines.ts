import { toColumns } from "../text/columns.ts";
import type { Answer, Compared } from "./comparison.ts";

/** A comparison for people. */
export function toComparisonLines(answers: readonly Answer[], compared: readonly Compared[]): string[] {
  const rows = answers.map(({ name, ms, runtime = "" }) => [
    name,
    ms === undefined ? "-" : `${Number(ms.toPrecision(3))} ms`,
    runtime,
  ]);
  const outputs = compared.map(({ target, output, isNear, text }) => [
    target,
    output,
    isNear ? (text === "" ? "equal" : "near") : "DIFFERS",
    text,
  ]);
  const others = [["Compared", "Output", "Result", "Greatest difference"], ...outputs];
  return [...toColumns([["Target", "Median", "Runtime"], ...rows]), "", ...toColumns(others)];
}
