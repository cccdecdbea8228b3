import { parseArgs } from "node:util";
import { endChildrenOnSignal } from "../test/helpers/children.ts";
import type { Figure } from "./engine/figure.ts";
import { binaryRest } from "./kserve/binary-rest.ts";
import { codecComparisons } from "./kserve/codecs.ts";
import { compare } from "./kserve/compare.ts";
import { imageComparison } from "./kserve/images.ts";
import { LoadGenerator } from "./load/load-generator.ts";
import { printFigures } from "./print-figures.ts";

const ROUNDS = 20;
const QUICK_ROUNDS = 5;
/** Of a round where both sides run in this process. */
const SECONDS = 0.8;

/** The cost of KServe V2: one table. */
export async function runKserve(args: readonly string[]): Promise<void> {
  const { quick } = parseArgs({ args: [...args], options: { quick: { type: "boolean", default: false } } }).values;
  endChildrenOnSignal();
  const rounds = quick ? QUICK_ROUNDS : ROUNDS;
  const figures: Figure[] = [];
  for (const comparison of [...codecComparisons(), await imageComparison()]) {
    figures.push(await compare(comparison, { rounds, secondsOfRound: SECONDS }));
  }
  const load = await LoadGenerator.start();
  figures.push(await binaryRest({ rounds, isQuick: quick, load, say: console.log }));
  load.stop();
  printFigures(figures, rounds);
}
