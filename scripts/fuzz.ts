import { parseArgs } from "node:util";
import { createDecoders } from "../test/fuzz/decoders.ts";
import { type FuzzCount, fuzz } from "../test/fuzz/fuzz.ts";
import { usedMb } from "../test/fuzz/used-mb.ts";
import { Random } from "../test/grpc/random.ts";

const HELP = `Gives changed messages to every decoder of what clients send. Ends with 0 only when each was read or refused in words,
and the memory did not grow.

  npm run fuzz -- --minutes 10 --seed 1`;

/** After which the memory counts: caches and pools are filled. */
const WARM_UP_SHARE = 0.1;
const MAX_GROWTH_MB = 64;

const OPTIONS = {
  minutes: { type: "string", default: "10" },
  seed: { type: "string" },
  help: { type: "boolean" },
} as const;
const { values: flags } = parseArgs({ options: OPTIONS });
if (flags.help) console.log(HELP);
else process.exitCode = await run(Number(flags.minutes), Number(flags.seed ?? Date.now() % 2 ** 31));

/** Gives the process's exit code. */
async function run(minutes: number, seed: number): Promise<number> {
  console.log(`seed ${seed}`);
  const [decoders, random, ms] = [await createDecoders(), new Random(seed), minutes * 60_000];
  await fuzz(decoders, random, ms * WARM_UP_SHARE);
  const before = usedMb();
  print(await fuzz(decoders, random, ms * (1 - WARM_UP_SHARE)));
  const after = usedMb();
  const isClean = after - before <= MAX_GROWTH_MB;
  console.log(`memory ${before.toFixed(0)} MB, then ${after.toFixed(0)} MB: ${isClean ? "clean" : "IT GREW"}`);
  return isClean ? 0 : 1;
}

function print(counts: readonly FuzzCount[]): void {
  for (const { name, taken, refused } of counts) console.log(`${name}: ${taken} read, ${refused} refused`);
}
