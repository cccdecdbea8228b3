import type { LoadTarget } from "../load/load-job.ts";
import { median } from "../load.ts";
import { type BenchRun, type Group, rate } from "./bench-run.ts";
import { floats, grpcAnswer, grpcTarget, holds, predictMessage } from "./messages.ts";
import { benchFile, startKserving } from "./servers.ts";

const DATA = floats(16);
const FATAL = predictMessage([1], Float32Array.of(-1));
/** Seconds that one look at the throughput takes: the result is no finer than that. */
const LOOK_SECONDS = 0.1;
/** The throughput is back when it is so much of what it was. */
const SHARE = 0.8;

/** Time until all is well again after a hook thread has died under load. */
export const recovery: Group = {
  name: "recovery",
  run: async (bench) => {
    bench.say(`${bench.rounds} times`);
    const echo = ["--driver", benchFile("echo-driver.ts"), "--model-path", "none"];
    const server = await startKserving([...echo, "--hooks", benchFile("mortal-hooks.ts")]);
    const target = await grpcTarget(server.grpcPort, predictMessage([1, 16], DATA), (outputs) => holds(outputs, DATA));
    await bench.load.runClean({ ...target, connections: 4, inFlight: 8, seconds: 1 });
    const durations: number[] = [];
    for (let round = 0; round < bench.rounds; round++) durations.push(await recoveryMs(bench, target));
    await server.stop();
    return [
      {
        name: `a hook thread dies under load: until ${100 * SHARE} % of the throughput is back, 8 in flight: 1 hook + 1 model thread`,
        ours: "",
        values: durations,
        unit: "ms",
        target: { atMost: 2000 },
      },
    ];
  },
};

async function recoveryMs({ load }: BenchRun, target: LoadTarget): Promise<number> {
  const look = () => load.run({ ...target, connections: 4, inFlight: 8, seconds: LOOK_SECONDS });
  const usual = median([rate(await look()), rate(await look()), rate(await look())]);
  const started = performance.now();
  const killed = grpcAnswer(target.port, FATAL).catch(() => {});
  for (let isBack = false; !isBack; ) {
    const result = await look();
    isBack = Object.keys(result.problems).length === 0 && rate(result) >= SHARE * usual;
    await killed;
  }
  return performance.now() - started;
}
