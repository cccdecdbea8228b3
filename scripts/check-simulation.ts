import { parseArgs } from "node:util";
import type { History } from "../test/simulation/serving/history.ts";
import { makeHistory } from "../test/simulation/serving/make-history.ts";
import { shrink } from "../test/simulation/serving/shrink.ts";
import { type Report, simulate } from "../test/simulation/serving/simulate.ts";

const HELP = `Runs what decides which models are served through histories that chance makes, on a clock and in a world of its own: loads,
closes and runs that fail, hang or come late, wishes that change, clients that come and leave. Ends with 0 only when each
keeps every promise, or breaks one that is known (test/simulation/serving/known-faults.ts).

  npm run check -- simulation --minutes 2            as many seeds as there is time for, from --from on
  npm run check -- simulation --seed 7               one history, with its last steps and its shortest form if it fails
  npm run check -- simulation --histories 400 --brief so many, and only the first failure's reason
  npm run check -- simulation --mutants              deliberate faults (test/simulation/serving/mutants.ts): each is found
  npm run check -- simulation --seed 7 --stop-at 31  ends in a debugger, if there is one, before that step`;

/** Steps of a failing history that are printed. */
const LAST_STEPS = 40;

const OPTIONS = {
  minutes: { type: "string", default: "2" },
  from: { type: "string", default: String(1 + (Date.now() % 2 ** 30)) },
  histories: { type: "string" },
  seed: { type: "string" },
  brief: { type: "boolean" },
  mutants: { type: "boolean" },
  "stop-at": { type: "string" },
  help: { type: "boolean" },
} as const;
const { values: flags } = parseArgs({ options: OPTIONS });
if (flags.help) console.log(HELP);
else if (flags.mutants) process.exitCode = await (await import("./simulation-mutants.ts")).runMutants();
else if (flags.seed !== undefined) process.exitCode = await replay(Number(flags.seed));
else process.exitCode = await runMany(Number(flags.minutes) * 60_000, Number(flags.from));

/** One history; gives the process's exit code. */
async function replay(seed: number): Promise<number> {
  const stopAt = flags["stop-at"] === undefined ? undefined : Number(flags["stop-at"]);
  const report = await simulate(makeHistory(seed), { stopAt });
  print(report);
  if (report.violations.length === 0) return 0;
  console.log("\nits shortest form:");
  printHistory(await shrink(makeHistory(seed)));
  return 1;
}

/** As many as there is time for, to the first that fails; gives the process's exit code. */
async function runMany(ms: number, from: number): Promise<number> {
  const [began, counts] = [performance.now(), { histories: 0, steps: 0, known: 0, ms: 0 }];
  let failed: number | undefined;
  const most = Number(flags.histories ?? Number.POSITIVE_INFINITY);
  const mayGoOn = () => counts.histories < most && (flags.histories !== undefined || performance.now() - began < ms);
  let first = "";
  for (let seed = from; mayGoOn() && failed === undefined; seed++) {
    const report = await simulate(makeHistory(seed));
    counts.histories++;
    counts.steps += report.steps;
    counts.ms += report.ms;
    if (report.known.length > 0) counts.known++;
    if (report.violations.length > 0) [failed, first] = [seed, report.violations[0]?.message ?? ""];
  }
  const days = (counts.ms / 86_400_000).toFixed(1);
  console.log(
    `${counts.histories} histories from seed ${from}, ${counts.steps} steps, ${days} simulated days; ${counts.known} with known faults`,
  );
  if (failed === undefined) return 0;
  if (flags.brief) {
    console.log(`seed ${failed}: ${first}`);
    return 1;
  }
  console.log(`seed ${failed} fails: npm run check -- simulation --seed ${failed}`);
  return replay(failed);
}

function print({ trace, steps, violations, known }: Report): void {
  console.log(trace.slice(-LAST_STEPS).join("\n"));
  console.log(`${steps} steps`);
  for (const { message } of known) console.log(`a known fault: ${message}`);
  for (const { message } of violations) console.log(message);
}

function printHistory({ commands, ...history }: History): void {
  console.log(JSON.stringify(history));
  for (const command of commands) console.log(`  ${JSON.stringify(command)}`);
}
