import { helpWidth } from "../help-width.ts";
import { toWrappedTable } from "../status-reporter/wrapped-table.ts";
import type { OptionFacts } from "./driver-facts.ts";

const HEADINGS = ["Option", "Value", "Default", "Meaning"];
const WRAPPED = 3;

/** Options as the lines of a table. */
export function toOptionRows(options: readonly OptionFacts[]): string[] {
  const rows = options.map((option) => [option.name, valueText(option), defaultText(option), meaningOf(option)]);
  return toWrappedTable([HEADINGS, ...rows], WRAPPED, helpWidth()).split("\n");
}

function valueText(option: OptionFacts): string {
  if (option.type === "prefix") return "text";
  return "min" in option && option.min !== undefined ? `${option.type}, ${option.min} or more` : option.type;
}

function defaultText(option: OptionFacts): string {
  return "default" in option && option.default !== undefined ? String(option.default) : "-";
}

function meaningOf(option: OptionFacts): string {
  return option.type === "choice" ? `${option.choices.join(", ")}. ${option.help}` : option.help;
}
