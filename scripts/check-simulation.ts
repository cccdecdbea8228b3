// First of all: what simulates threads has to come before all that uses them.
import "../test/simulation/threads/worker-threads.ts";

import { parseArgs } from "node:util";

const HELP = `Runs parts of the server through histories that chance makes, on a clock and in a world of their own, where everything may
fail, hang or come late. Ends with 0 only when each keeps every promise.

  serving   what decides which models are served: loads, closes and runs, wishes that change, clients that come and leave;
            a promise that is known to be broken counts as kept (test/simulation/serving/known-faults.ts)
  queue     models in threads: their queues and batches, threads that crash, hang and are replaced, reloads
  hooks     the pool of hook threads: hooks that fail, spin, exit and wait for ever, reloads
  streams   answers in parts of hooks, and of models behind them: readers that are slow, stop and leave

  npm run check -- simulation --of queue --minutes 2 as many seeds as there is time for, from --from on; default serving
  npm run check -- simulation --of all --seconds 20  so long for each
  npm run check -- simulation --seed 7               one history, with its last steps and its shortest form if it fails
  npm run check -- simulation --histories 400 --brief so many, and only the first failure's reason
  npm run check -- simulation --mutants              deliberate faults (test/simulation/*/mutants.ts): each is found
  npm run check -- simulation --seed 7 --stop-at 31  ends in a debugger, if there is one, before that step`;

/** Steps of a failing history that are printed. */
const LAST_STEPS = 40;

const OPTIONS = {
  of: { type: "string", default: "serving" },
  minutes: { type: "string", default: "2" },
  seconds: { type: "string" },
  from: { type: "string", default: String(1 + (Date.now() % 2 ** 30)) },
  histories: { type: "string" },
  seed: { type: "string" },
  brief: { type: "boolean" },
  mutants: { type: "boolean" },
  "stop-at": { type: "string" },
  help: { type: "boolean" },
} as const;

interface Report {
  readonly violations: readonly { readonly message: string }[];
  readonly known: readonly { readonly message: string }[];
  readonly trace: readonly string[];
  readonly steps: number;
  readonly ms: number;
}

/** A part of the server that can be simulated. */
interface Simulation {
  readonly run: (seed: number, options?: { readonly stopAt?: number | undefined }) => Promise<Report>;
  /** A short history of the same fault. */
  readonly shrink: (seed: number) => Promise<{ readonly commands: readonly unknown[] }>;
}

/** Imported when they are asked for. */
const SIMULATIONS: Readonly<Record<string, () => Promise<Simulation>>> = {
  serving: async () => {
    const { makeHistory } = await import("../test/simulation/serving/make-history.ts");
    const { shrink } = await import("../test/simulation/serving/shrink.ts");
    const { simulate } = await import("../test/simulation/serving/simulate.ts");
    return {
      run: (seed, options) => simulate(makeHistory(seed), options),
      shrink: (seed) => shrink(makeHistory(seed)),
    };
  },
  queue: async () => {
    const { makeQueueHistory } = await import("../test/simulation/queue/queue-history.ts");
    const { simulateQueue } = await import("../test/simulation/queue/queue-scene.ts");
    const { shrinkCommands } = await import("../test/simulation/threads/shrink-commands.ts");
    return {
      run: (seed, options) => simulateQueue(makeQueueHistory(seed), options),
      shrink: (seed) => shrinkCommands(makeQueueHistory(seed), simulateQueue),
    };
  },
  hooks: () => hooksOrStreams(false),
  streams: () => hooksOrStreams(true),
};

async function hooksOrStreams(parted: boolean): Promise<Simulation> {
  const { makeHookHistory } = await import("../test/simulation/hooks/hook-history.ts");
  const { simulateHooks } = await import("../test/simulation/hooks/hook-scene.ts");
  const { shrinkCommands } = await import("../test/simulation/threads/shrink-commands.ts");
  return {
    run: (seed, options) => simulateHooks(makeHookHistory(seed, { parted }), options),
    shrink: (seed) => shrinkCommands(makeHookHistory(seed, { parted }), simulateHooks),
  };
}

const { values: flags } = parseArgs({ options: OPTIONS });
if (flags.help) console.log(HELP);
else if (flags.mutants) {
  const { runMutants } = await import("./simulation-mutants.ts");
  process.exitCode = await runMutants(flags.of === "all" ? undefined : flags.of);
} else for (const name of namesOf(flags.of)) process.exitCode ||= await check(name);

function namesOf(of: string): readonly string[] {
  const known = Object.keys(SIMULATIONS);
  const names = of === "all" ? known : of.split(",", known.length);
  const wrong = names.find((name) => !known.includes(name));
  if (wrong !== undefined) throw new Error(`--of is "${wrong}"; expected ${known.join(", ")} or all.`);
  return names;
}

/** Gives the process's exit code. */
async function check(name: string): Promise<number> {
  const simulation = await (SIMULATIONS[name] as () => Promise<Simulation>)();
  if (flags.seed !== undefined) return replay(simulation, Number(flags.seed));
  const ms = flags.seconds === undefined ? Number(flags.minutes) * 60_000 : Number(flags.seconds) * 1000;
  return runMany(name, simulation, ms);
}

/** One history; gives the process's exit code. */
async function replay({ run, shrink }: Simulation, seed: number): Promise<number> {
  const stopAt = flags["stop-at"] === undefined ? undefined : Number(flags["stop-at"]);
  const report = await run(seed, { stopAt });
  print(report);
  if (report.violations.length === 0) return 0;
  console.log("\nits shortest form:");
  const { commands, ...history } = await shrink(seed);
  console.log(JSON.stringify(history));
  for (const command of commands) console.log(`  ${JSON.stringify(command)}`);
  return 1;
}

/** As many as there is time for, to the first that fails; gives the process's exit code. */
async function runMany(name: string, simulation: Simulation, ms: number): Promise<number> {
  const [began, counts] = [performance.now(), { histories: 0, steps: 0, known: 0, ms: 0 }];
  const from = Number(flags.from);
  const most = Number(flags.histories ?? Number.POSITIVE_INFINITY);
  const mayGoOn = () => counts.histories < most && (flags.histories !== undefined || performance.now() - began < ms);
  let failed: { readonly seed: number; readonly first: string } | undefined;
  for (let seed = from; mayGoOn() && failed === undefined; seed++) {
    const { violations, known, steps, ms: passed } = await simulation.run(seed);
    counts.histories++;
    counts.steps += steps;
    counts.ms += passed;
    if (known.length > 0) counts.known++;
    if (violations[0] !== undefined) failed = { seed, first: violations[0].message };
  }
  const { histories, steps, known } = counts;
  const minutes = (counts.ms / 60_000).toFixed(1);
  console.log(
    `${name}: ${histories} histories from seed ${from}, ${steps} steps, ${minutes} simulated minutes; ${known} with known faults`,
  );
  if (failed === undefined) return 0;
  const { seed, first } = failed;
  console.log(flags.brief ? `seed ${seed}: ${first}` : `npm run check -- simulation --of ${name} --seed ${seed}`);
  if (!flags.brief) await replay(simulation, seed);
  return 1;
}

function print({ trace, steps, violations, known }: Report): void {
  console.log(trace.slice(-LAST_STEPS).join("\n"));
  console.log(`${steps} steps`);
  for (const { message } of known) console.log(`a known fault: ${message}`);
  for (const { message } of violations) console.log(message);
}
