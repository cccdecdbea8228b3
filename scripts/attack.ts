import { parseArgs } from "node:util";
import type { AttackRow } from "../bench/attack/attack-row.ts";
import { ATTACK_ROWS } from "../bench/attack/attack-rows.ts";
import { type RowResult, runRow } from "../bench/attack/run-row.ts";
import { endChildrenOnSignal } from "../bench/children.ts";
import { tableLines } from "../bench/table.ts";

const HELP = `Attacks the real program, over loopback, while another client sends tiny requests, and prints for each hostile request
how long that client waited and how much memory the server took. A row passes when the other client never waited longer than 50 ms
for a server that was busy, the server never took more than its budget of 512 MB × 1.25 + 300 MB, and nothing broke. A row that
failed by a figure runs once more. Header references may make others wait for 250 ms, as docs/limits.md says.

  npm run attack                   all rows
  npm run attack -- NAME...        the rows whose names begin so
  npm run attack -- --list         their names

wait      the longest wait of the other client in ms, less the time that it or the server's main thread had no core
(busy)    the longest time that the server's main thread computed during one wait; a row fails where both are longer than 50 ms
(raw)     the longest wait as a clock shows it
(alone)   the longest wait, less missing cores, during 0.4 s before the attack
peak      memory that the server had at most (VmHWM), in MB
refused   tiny requests that the server had no room for`;

const HEAD = ["row", "wait", "(busy)", "(raw)", "(alone)", "peak", "refused", "s", "attacker got", "verdict"];

const OPTIONS = { list: { type: "boolean" }, help: { type: "boolean" } } as const;
const { values: flags, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
const chosen = ATTACK_ROWS.filter(
  ({ name }) => positionals.length === 0 || positionals.some((start) => name.startsWith(start)),
);
if (flags.help) console.log(HELP);
else if (flags.list) for (const { name } of chosen) console.log(name);
else process.exitCode = await attackAll(chosen);

/** Gives the process's exit code. */
async function attackAll(rows: readonly AttackRow[]): Promise<number> {
  if (rows.length === 0) throw new Error(`No row begins with ${positionals.join(", ")}; --list names them.`);
  endChildrenOnSignal();
  const lines: string[][] = [];
  let failed = 0;
  for (const row of rows) {
    const results = await runTwiceAtMost(row);
    if (results.every(({ problems }) => problems.length > 0)) failed++;
    for (const [index, result] of results.entries()) {
      const cells = toCells(index === 0 ? row.name : `${row.name} (again)`, result);
      lines.push(cells);
      console.error(cells.join("  "));
    }
  }
  console.log(tableLines([HEAD, ...lines]).join("\n"));
  console.log(`${rows.length - failed} of ${rows.length} rows passed.`);
  return failed === 0 ? 0 : 1;
}

async function runTwiceAtMost(row: AttackRow): Promise<RowResult[]> {
  const first = await runRow(row);
  return first.problems.length === 0 || !first.isNoisy ? [first] : [first, await runRow(row)];
}

function toCells(name: string, { baseline, others, peakMb, seconds, got, problems }: RowResult): string[] {
  return [
    name,
    others.longestOwnMs.toFixed(0),
    others.longestBusyMs.toFixed(0),
    others.longestMs.toFixed(0),
    baseline.longestOwnMs.toFixed(0),
    peakMb.toFixed(0),
    String(others.refused),
    seconds.toFixed(1),
    got,
    problems.length === 0 ? "ok" : `FAIL ${problems.join("; ")}`,
  ];
}
