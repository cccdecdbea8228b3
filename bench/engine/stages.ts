import { cpuMs } from "../../test/helpers/process-usage.ts";
import type { LoadResult, LoadTarget } from "../load/load-job.ts";
import { median } from "../load.ts";
import { alternate, type BenchRun, type Group, paired } from "./bench-run.ts";
import type { Figure } from "./figure.ts";
import { floats, grpcTarget, holds, predictMessage } from "./messages.ts";
import { type BenchServer, benchFile, startKserving } from "./servers.ts";

const DATA = floats(16);
const MESSAGE = predictMessage([1, 16], DATA);
const PRESS = { connections: 8, inFlight: 32 };

const ECHO = ["--driver", benchFile("echo-driver.ts"), "--model-path", "none"];
const NULL = ["--driver", "null"];
const HOOKS = ["--hooks", benchFile("two-stage-hooks.ts")];

/** Processor time of two stages with hooks, over one stage without. */
export const stages: Group = {
  name: "two stages",
  run: async (bench) => [
    await compare(bench, "null drivers, 1 hook thread", [NULL, [...NULL, ...NULL, ...HOOKS]]),
    await compare(bench, "echo drivers, 1 hook + 2 model threads", [ECHO, [...ECHO, ...ECHO, ...HOOKS]]),
  ],
};

async function compare(bench: BenchRun, what: string, [one, two]: readonly [string[], string[]]): Promise<Figure> {
  bench.say(what);
  const plain = await startKserving(one);
  const hooked = await startKserving(two);
  const targets = { plain: await echoOf(plain), hooked: await echoOf(hooked) };
  for (const target of Object.values(targets)) await bench.load.runClean({ ...target, ...PRESS, seconds: 1 });
  const results = await alternate(bench.rounds, {
    plain: () => cpuPerRequest(bench, plain, targets.plain),
    hooked: () => cpuPerRequest(bench, hooked, targets.hooked),
  });
  await plain.stop();
  await hooked.stop();
  return {
    name: `CPU per tiny request, two stages with identity hooks over one without: ${what}`,
    ours: `${median(results.hooked).toFixed(0)} µs`,
    ceiling: `${median(results.plain).toFixed(0)} µs one stage`,
    values: paired(results.hooked, results.plain, (a, b) => a - b),
    unit: "µs",
    target: { atMost: 100 },
  };
}

function echoOf({ grpcPort }: BenchServer): Promise<LoadTarget> {
  return grpcTarget(grpcPort, MESSAGE, (outputs) => holds(outputs, DATA));
}

/** Microseconds of all threads of the server. */
async function cpuPerRequest({ load, isQuick }: BenchRun, { pid }: BenchServer, target: LoadTarget): Promise<number> {
  const before = cpuMs(pid);
  const { requests }: LoadResult = await load.runClean({ ...target, ...PRESS, seconds: isQuick ? 0.7 : 1 });
  return ((cpuMs(pid) - before) * 1000) / requests;
}
