import { parseArgs } from "node:util";
import { type FuzzCount, fuzz } from "../test/fuzz/fuzz.ts";
import { openTlsDecoders } from "../test/fuzz/tls-decoders.ts";
import { usedMb } from "../test/fuzz/used-mb.ts";
import { Random } from "../test/grpc/random.ts";
import { followDecoders } from "./follow-decoders.ts";

const HELP = `Gives changed messages to every decoder of what clients send, and changed files to every reader of what strangers make, and goes
on from those that reach new branches. Ends with 0 only when each was read or refused in words, none took long, twice the length of the
costliest takes no more than twice the time, and the memory did not grow. What fails is kept in .cache/fuzz/findings.

  npm run check -- fuzz --minutes 10 --seed 1
  npm run check -- fuzz --only JSON      decoders with that in their names; each of them gets its share of the minutes
  npm run check -- fuzz --keep           afterwards, the least inputs that reach what the samples do not are in test/fixtures/fuzz
  npm run check -- fuzz --replay FILE    one input again
  npm run check -- fuzz --tls            the messages go to a server's encrypted ports, and so do changed requests, frames and records`;

/** After which the memory counts: caches and pools are filled. */
const WARM_UP_SHARE = 0.1;
const MAX_GROWTH_MB = 64;

const OPTIONS = {
  minutes: { type: "string", default: "10" },
  seed: { type: "string" },
  only: { type: "string", default: "" },
  keep: { type: "boolean", default: false },
  replay: { type: "string" },
  tls: { type: "boolean", default: false },
  help: { type: "boolean" },
} as const;
const { values: flags } = parseArgs({ options: OPTIONS });
if (flags.help) console.log(HELP);
else process.exitCode = await run(Number(flags.minutes), Number(flags.seed ?? Date.now() % 2 ** 31));

/** Gives the process's exit code. */
async function run(minutes: number, seed: number): Promise<number> {
  console.log(`seed ${seed}`);
  if (flags.tls) return fuzzTls(minutes, seed);
  const { only, keep: keeps, replay } = flags;
  return (await followDecoders({ minutes, seed, only, keeps, replay })) === 0 ? 0 : 1;
}

async function fuzzTls(minutes: number, seed: number): Promise<number> {
  const { decoders, close } = await openTlsDecoders();
  const [random, ms] = [new Random(seed), minutes * 60_000];
  await fuzz(decoders, random, ms * WARM_UP_SHARE);
  const before = usedMb();
  print(await fuzz(decoders, random, ms * (1 - WARM_UP_SHARE)));
  const after = usedMb();
  await close();
  const isClean = after - before <= MAX_GROWTH_MB;
  console.log(`memory ${before.toFixed(0)} MB, then ${after.toFixed(0)} MB: ${isClean ? "clean" : "IT GREW"}`);
  return isClean ? 0 : 1;
}

function print(counts: readonly FuzzCount[]): void {
  for (const { name, taken, refused } of counts) console.log(`${name}: ${taken} read, ${refused} refused`);
}
