import type { Finding } from "./sweep.ts";

/** Kinds of outcomes that are faults, by what they begin with, in the order of the report. */
const FAULTS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ["END THE PROCESS", /^dies/],
  ["take the memory", /^takes/],
  ["hang", /^hangs/],
  ["answer good inputs otherwise afterwards", /^answers good/],
  ["answer otherwise the second time", /^answers otherwise/],
  ["are called the server's fault", /^(internal|crude|unknown)/],
];

/** A table of the operators whose trials ended in a fault, with the first of each kind, and counts of the others. */
export function hostileReport(runtime: string, findings: readonly Finding[]): string {
  const tables = FAULTS.map(([kind, pattern]) =>
    table(
      kind,
      findings.filter(({ outcome }) => pattern.test(outcome)),
    ),
  );
  const count = (pattern: RegExp) => findings.filter(({ outcome }) => pattern.test(outcome)).length;
  const operators = new Set(findings.map(({ operator }) => operator)).size;
  const counts = `${count(/^answered/)} answered, ${count(/^\w+:/)} refused, ${count(/^does not load/)} models not loaded`;
  const summary = `${runtime}: ${operators} operators, ${findings.length} trials: ${counts}`;
  return [summary, ...tables.filter((text) => text !== "")].join("\n");
}

function table(kind: string, findings: readonly Finding[]): string {
  if (findings.length === 0) return "";
  const rows = groups(findings);
  const lines = [...rows].map(([operator, [first, ...others]]) => {
    const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
    return `  ${operator}: ${first!.trial}: ${first!.outcome.slice(0, 160).replace(/\s+/g, " ")}${more}`;
  });
  return [`${findings.length} trials of ${rows.size} operators ${kind}:`, ...lines].join("\n");
}

function groups(findings: readonly Finding[]): Map<string, Finding[]> {
  const found = new Map<string, Finding[]>();
  for (const finding of findings) {
    const group = found.get(finding.operator);
    if (group === undefined) found.set(finding.operator, [finding]);
    else group.push(finding);
  }
  return found;
}
