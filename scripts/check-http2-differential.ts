import { parseArgs } from "node:util";
import { usedMb } from "../test/fuzz/used-mb.ts";
import { Random } from "../test/grpc/random.ts";
import { compareServers, type DifferentialResult } from "../test/http2/differential/differential.ts";
import { startServers } from "../test/http2/differential/servers.ts";

const HELP = `Sends changed recordings of HTTP/2 clients to our server and to one of node:http2, and compares how their connections and streams
end, their answers and the bytes that they received. Ends with 0 only when each difference is in the table of those that RFC 9113
explains (test/http2/differential/explained.ts), and the memory did not grow.

  npm run check -- http2-differential --minutes 10 --seed 1`;

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
  const [servers, random, ms] = [await startServers(), new Random(seed), minutes * 60_000];
  const compareFor = (share: number) => {
    const end = performance.now() + ms * share;
    return compareServers(servers, random, () => performance.now() < end);
  };
  print(await compareFor(WARM_UP_SHARE));
  const before = usedMb();
  const result = await compareFor(1 - WARM_UP_SHARE);
  print(result);
  const after = usedMb();
  servers.close();
  const isClean = after - before <= MAX_GROWTH_MB;
  console.log(`memory ${before.toFixed(0)} MB, then ${after.toFixed(0)} MB: ${isClean ? "clean" : "IT GREW"}`);
  return isClean && result.unexplained.length === 0 ? 0 : 1;
}

function print({ conversations, explained, unexplained }: DifferentialResult): void {
  for (const [why, count] of explained) console.log(`${count} × ${why}`);
  for (const { what, frames } of unexplained) console.log(["NOT EXPLAINED", what, ...frames].join("\n  "));
  console.log(`${conversations} conversations, ${unexplained.length} differences that nothing explains`);
}
