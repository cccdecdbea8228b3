import { createTensor } from "../../src/tensor/tensor.ts";
import { LoadGenerator } from "../load/load-generator.ts";
import type { LoadResult, LoadTarget } from "../load/load-job.ts";
import { median } from "../load.ts";
import { makeDenseNet } from "../models.ts";
import { alternate, type BenchRun, type Group, paired } from "./bench-run.ts";
import type { Figure } from "./figure.ts";
import { floats, grpcTarget, predictTensors } from "./messages.ts";
import { benchFile, startKserving } from "./servers.ts";

const WIDTHS = [16, 1400, 1400, 8];
/** Requests under way for the light model; its equal has ten times as many. */
const LIGHT = { connections: 2, inFlight: 4 };
const HEAVY = { connections: 2, inFlight: 40 };

/** The cost of a model's load to its neighbour, behind the same hook thread. */
export const fairness: Group = {
  name: "fairness",
  run: async (bench) => {
    bench.say("a model beside its equal with ten times the load");
    const net = makeDenseNet("dense-8mb", WIDTHS);
    const stage = ["--driver", "onnx", "--model-path", net];
    const hooks = ["--hooks", benchFile("two-model-hooks.ts")];
    const server = await startKserving([...stage, ...stage, ...hooks, "--threads", "1"]);
    const x = createTensor("float32", [1, 16], floats(16));
    const second = createTensor("int32", [1], Int32Array.of(1));
    const targets = {
      light: await scoresTarget(server.grpcPort, predictTensors({ x })),
      heavy: await scoresTarget(server.grpcPort, predictTensors({ x, second })),
    };
    const figure = await compare(bench, targets);
    await server.stop();
    return [figure];
  },
};

type Targets = Readonly<Record<"light" | "heavy", LoadTarget>>;

/** The neighbour's load comes from a generator of its own, since each runs one job at a time. */
async function compare({ load, rounds, isQuick }: BenchRun, { light, heavy }: Targets): Promise<Figure> {
  const neighbour = await LoadGenerator.start();
  const seconds = isQuick ? 1 : 2;
  await load.runClean({ ...light, ...LIGHT, seconds });
  const results = await alternate<string, LoadResult>(rounds, {
    alone: () => load.runClean({ ...light, ...LIGHT, seconds }),
    beside: async () => {
      const other = neighbour.runClean({ ...heavy, ...HEAVY, seconds: seconds + 0.2 });
      const result = await load.runClean({ ...light, ...LIGHT, seconds });
      await other;
      return result;
    },
  });
  neighbour.stop();
  const { alone = [], beside = [] } = results;
  return {
    name: `p99 of a model (${LIGHT.inFlight} in flight) beside its equal (${HEAVY.inFlight} in flight) over alone: 1 hook + 2 model threads`,
    ours: typicalP99(beside),
    ceiling: `${typicalP99(alone)} alone`,
    values: paired(beside, alone, (a, b) => a.p99Ms / b.p99Ms),
    unit: "×",
    target: { atMost: 3 },
  };
}

function scoresTarget(port: number, message: Buffer): Promise<LoadTarget> {
  return grpcTarget(port, message, ({ y }) => y?.data.length === WIDTHS.at(-1));
}

function typicalP99(results: readonly LoadResult[]): string {
  return `${median(results.map(({ p99Ms }) => p99Ms)).toFixed(1)} ms`;
}
