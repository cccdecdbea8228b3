import { makeConvNet } from "../models.ts";
import { PHOTO_SIDE } from "../photo-planes.ts";
import type { BenchRun, Group } from "./bench-run.ts";
import type { Figure } from "./figure.ts";
import { type LoopDelay, startInstrumented } from "./instrumented-server.ts";
import { floats, grpcTarget, predictMessage } from "./messages.ts";

/** The conv net takes about 100 ms for so many images, which are 6 MB. */
const IMAGES = 10;
const MESSAGE = predictMessage([IMAGES, 3, PHOTO_SIDE, PHOTO_SIDE], floats(IMAGES * 3 * PHOTO_SIDE ** 2));

/** Delay of the main thread's event loop while a model runs. */
export const responsiveness: Group = {
  name: "event loop",
  run: async (bench) => [
    await measure(bench, { threads: 1, what: "a core to spare", atMost: 5 }),
    await measure(bench, { threads: 2, what: "no core to spare", atMost: 10 }),
  ],
};

async function measure(
  { load, rounds, isQuick, say }: BenchRun,
  { threads, what, atMost }: { threads: number; what: string; atMost: number },
): Promise<Figure> {
  say(what);
  const server = await startInstrumented(["--model-path", makeConvNet(), "--threads", String(threads)]);
  const target = await grpcTarget(server.grpcPort, MESSAGE, ({ y }) => y?.data.length === IMAGES * 1000);
  const press = { ...target, connections: 1, inFlight: 2 };
  await load.runClean({ ...press, seconds: 1 });
  const delays: LoopDelay[] = [];
  let p50Ms = 0;
  for (let round = 0; round < rounds; round++) {
    await server.settle();
    ({ p50Ms } = await load.runClean({ ...press, seconds: isQuick ? 1.5 : 2 }));
    delays.push(await server.settle());
  }
  await server.stop();
  return {
    name: `main thread's event-loop delay, p99, model busy with 6 MB requests, 2 in flight: 1 model thread, ${threads} intra-op (${what})`,
    ours: `max ${Math.max(...delays.map(({ maxMs }) => maxMs)).toFixed(1)} ms`,
    ceiling: `answers take ${p50Ms.toFixed(0)} ms`,
    values: delays.map(({ p99Ms }) => p99Ms),
    unit: "ms",
    target: { atMost },
  };
}
