import { setTimeout as wait } from "node:timers/promises";
import { tableLines } from "../../test/helpers/table.ts";
import type { AttackRow } from "./attack-row.ts";
import { AttackedServer } from "./attacked-server.ts";
import { configurationsOf } from "./configuration.ts";
import type { NeighbourReport, NeighbourReports } from "./neighbour-report.ts";
import { Neighbours } from "./run-row.ts";

/** Time in which others ask alone, whose waits the later ones are compared with. */
const ALONE_MS = 30_000;
/** A wait of others may be so many times as long as without the attacks. */
const MOST_TIMES = 2;
/** Waits below it are not compared: they are the machine's own. */
const LEAST_MS = 20;

const HEAD = ["server", "others", "requests", "refused", "lost", "p99 alone", "p99 attacked", "longest", "verdict"];

/**
 * Attacks one server of each kind with the rows that are for it, one after the other, again and again, and compares
 * what others wait with what they waited alone; resolves with the process's exit code.
 */
export async function attackLong(rows: readonly AttackRow[], minutes: number): Promise<number> {
  const kinds = new Map<string, AttackRow[]>();
  for (const row of rows) kinds.set(row.server, [...(kinds.get(row.server) ?? []), row]);
  const neighbours = await Neighbours.start();
  const lines: string[][] = [];
  for (const own of kinds.values()) lines.push(...(await attackKind(own, neighbours, (minutes * 60_000) / kinds.size)));
  await neighbours.stop();
  console.log(tableLines([HEAD, ...lines]).join("\n"));
  return lines.every((cells) => cells.at(-1) === "ok") ? 0 : 1;
}

async function attackKind(rows: readonly AttackRow[], neighbours: Neighbours, ms: number): Promise<string[][]> {
  const [first] = rows as [AttackRow];
  const [configuration] = configurationsOf(first);
  if (configuration === undefined) return [];
  const server = await AttackedServer.start(first, configuration);
  await neighbours.begin(server, first);
  await wait(ALONE_MS);
  const alone = await neighbours.report();
  const end = performance.now() + ms;
  for (let round = 1; performance.now() < end && server.end === undefined; round++) {
    for (const row of rows) {
      const attack = await row.prepare();
      const { got, problem = "" } = await attack(server.target);
      console.error(`${first.server} ${round}  ${row.name}  ${got}  ${problem}`);
    }
  }
  const attacked = await neighbours.report();
  neighbours.end();
  const { peakMb } = server;
  const problem = await server.stop();
  console.log(`${first.server}: ${peakMb.toFixed(0)} MB at most`);
  const lines = Object.keys(attacked).map((name) => lineOf(first.server, name, alone, attacked));
  return problem === undefined ? lines : [...lines, [first.server, problem, "", "", "", "", "", "", "FAIL"]];
}

function lineOf(server: string, name: string, alone: NeighbourReports, attacked: NeighbourReports): string[] {
  const of = (reports: NeighbourReports) => reports[name as keyof NeighbourReports] as NeighbourReport;
  const { requests, refused, failures, p99OwnMs, longestOwnMs } = of(attacked);
  const base = of(alone).p99OwnMs;
  const isSlow = p99OwnMs > LEAST_MS && p99OwnMs > MOST_TIMES * base;
  const problems = [...(isSlow ? ["p99"] : []), ...(failures.length > 0 ? [`lost: ${failures[0]}`] : [])];
  return [
    ...[server, name, String(requests), String(refused), String(failures.length)],
    ...[base, p99OwnMs, longestOwnMs].map((figure) => `${figure.toFixed(1)} ms`),
    problems.length === 0 ? "ok" : `FAIL ${problems.join("; ")}`,
  ];
}
