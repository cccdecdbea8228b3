import { parseArgs } from "node:util";
import { endChildrenOnSignal } from "../test/helpers/children.ts";
import type { Group } from "./engine/bench-run.ts";
import type { Figure } from "./engine/figure.ts";
import { LoadGenerator } from "./load/load-generator.ts";
import { convNet } from "./native/conv-net.ts";
import { json } from "./native/json.ts";
import { large } from "./native/large.ts";
import { sharedMemory } from "./native/shared-memory.ts";
import { start } from "./native/start.ts";
import { tiny } from "./native/tiny.ts";
import { printFigures } from "./print-figures.ts";

const GROUPS: readonly Group[] = [tiny, large, sharedMemory, convNet, json, start];
const ROUNDS = 20;
const QUICK_ROUNDS = 5;
const OPTIONS = { quick: { type: "boolean", default: false }, only: { type: "string" } } as const;

/** The cost of a request where a native server is the measure: one table. */
export async function runNative(args: readonly string[]): Promise<void> {
  const { quick, only } = parseArgs({ args: [...args], options: OPTIONS }).values;
  endChildrenOnSignal();
  const load = await LoadGenerator.start();
  const rounds = quick ? QUICK_ROUNDS : ROUNDS;
  const figures: Figure[] = [];
  for (const { name, run } of GROUPS.filter((group) => only === undefined || group.name.includes(only))) {
    const say = (what: string) => console.log(`${new Date().toISOString().slice(11, 19)}  ${name}: ${what}`);
    figures.push(...(await run({ rounds, isQuick: quick, load, say })));
  }
  load.stop();
  printFigures(
    figures,
    rounds,
    "CPU is the processor time of the whole server process, user and system, divided by its requests.",
  );
}
