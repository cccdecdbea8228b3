import { decodePredictResponse } from "../../src/protocols/tensorflow-serving/grpc-codec.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import type { LoadTarget } from "../load/load-job.ts";
import { median } from "../load.ts";
import { makeDenseNet } from "../models.ts";
import { alternate, type BenchRun, type Group, paired } from "./bench-run.ts";
import { type CpuTurn, cpuTurn } from "./cpu-turn.ts";
import type { Figure } from "./figure.ts";
import { floats, grpcAnswer, plainTarget, predictMessage } from "./messages.ts";
import { type BenchServer, startKserving } from "./servers.ts";

const PRESS = { connections: 8, inFlight: 64 };
const BATCHED = ["-o", "max_batch_size=64"];

/** 64 clients at once, with one run for each and with one run for all who wait. */
export const batching: Group = {
  name: "batching",
  run: async (bench) => {
    const tiny = await compare(bench, { what: "tiny MLP", widths: [16, 32, 8] });
    const dense = await compare(bench, { what: "dense net, 17 MB of weights", widths: [16, 2048, 2048, 8] });
    return [
      figure("tiny MLP", tiny, { of: "rate", target: { atLeast: 1 } }),
      figure("tiny MLP, CPU per request", tiny, { of: "cpuUs", target: { atMost: 1 } }),
      figure("dense net, 17 MB of weights", dense, { of: "rate", target: { atLeast: 4 } }),
    ];
  },
};

type Turns = Readonly<Record<"on" | "off", CpuTurn[]>>;

async function compare(bench: BenchRun, { what, widths }: { what: string; widths: number[] }): Promise<Turns> {
  bench.say(what);
  const model = makeDenseNet(what.split(/[, ]/, 2).join("-"), widths);
  const args = ["--model-path", model, "--threads", "1"];
  const off = await startKserving(args);
  const on = await startKserving([...args, ...BATCHED]);
  const message = predictMessage([1, widths[0] as number], floats(widths[0] as number));
  const answer = await grpcAnswer(off.grpcPort, message);
  const targets = { on: scoresTarget(on, message, answer), off: scoresTarget(off, message, answer) };
  for (const target of Object.values(targets)) await bench.load.runClean({ ...target, ...PRESS, seconds: 1 });
  const turns = await alternate(bench.rounds, {
    on: () => turn(bench, on, targets.on),
    off: () => turn(bench, off, targets.off),
  });
  await on.stop();
  await off.stop();
  return turns;
}

/** A batch adds its products up in another order than a single run does, so that last digits differ. */
function scoresTarget({ grpcPort }: BenchServer, message: Buffer, answer: Buffer): LoadTarget {
  const { y } = decodePredictResponse(answer, 2 ** 30).outputs;
  const { buffer, byteOffset, byteLength } = (y as Tensor<"float32">).data;
  const target = plainTarget(grpcPort, message, answer);
  const [{ body, expected }] = target.messages as [LoadTarget["messages"][number]];
  const from = expected.bytes.indexOf(Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength));
  return { ...target, messages: [{ body, expected: { ...expected, floats: { from, to: from + byteLength } } }] };
}

function turn({ load, isQuick }: BenchRun, { pid }: BenchServer, target: LoadTarget): Promise<CpuTurn> {
  return cpuTurn(load, pid, { ...target, ...PRESS, seconds: isQuick ? 0.6 : 1 });
}

function figure(
  what: string,
  { on, off }: Turns,
  { of, target }: { of: "rate" | "cpuUs"; target: NonNullable<Figure["target"]> },
): Figure {
  const show = (turns: readonly CpuTurn[]) => {
    const middle = median(turns.map((each) => each[of]));
    return of === "rate" ? `${middle.toFixed(0)}/s` : `${middle.toFixed(0)} µs`;
  };
  return {
    name: `batching on over off, 64 in flight: ${what}, 1 model thread, 1 intra-op thread`,
    ours: show(on),
    ceiling: `${show(off)} without`,
    values: paired(on, off, (a, b) => a[of] / b[of]),
    unit: "×",
    target,
  };
}
