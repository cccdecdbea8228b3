import sharp from "sharp";
import { createTensor, type Tensors } from "../../src/tensor/tensor.ts";
import type { LoadTarget } from "../load/load-job.ts";
import { median } from "../load.ts";
import { makeConvNet } from "../models.ts";
import { PHOTO_SHAPE, PHOTO_SIDE } from "../photo-planes.ts";
import type { LoopAnswer, LoopQuestion } from "../session-loop.ts";
import { alternate, type BenchRun, type Group, paired, rate } from "./bench-run.ts";
import type { Figure } from "./figure.ts";
import { floats, grpcAnswer, grpcTarget, plainTarget, predictMessage, predictTensors } from "./messages.ts";
import { perSecond, race, typicalMs } from "./race.ts";
import { type BenchProgram, benchFile, startKserving, startProgram } from "./servers.ts";

const MESSAGE = predictMessage(PHOTO_SHAPE, floats(3 * PHOTO_SIDE * PHOTO_SIDE));
/** Requests under way; the loop over photos overlaps as many. */
const IN_FLIGHT = 4;
/** With so few requests a second, V8 takes this long to compile most code that each of them runs. */
const WARM_UP_SECONDS = 15;

/** A model that takes its time, and what the server adds to it. */
export const convNet: Group = {
  name: "conv net",
  run: async (bench) => {
    const model = makeConvNet();
    const loop = await startProgram("session-loop.ts", [model]);
    const figures = [...(await images(bench, model, loop)), await photos(bench, model, loop)];
    loop.stop();
    return figures;
  },
};

async function images(bench: BenchRun, model: string, loop: BenchProgram): Promise<Figure[]> {
  const server = await startKserving(["--model-path", model, "--threads", "1"]);
  const inline = await startProgram("inline-onnx-server.ts", [model]);
  const bare = await startProgram("echo-server.ts");
  const ours = await grpcTarget(server.grpcPort, MESSAGE, areScores);
  const busy = await besideLoop(bench, ours, { loop, echo: plainTarget(bare.grpcPort, MESSAGE, MESSAGE) });
  const direct = plainTarget(inline.grpcPort, MESSAGE, await grpcAnswer(inline.grpcPort, MESSAGE));
  const alone = await oneByOne(bench, ours, direct);
  await server.stop();
  inline.stop();
  bare.stop();
  return [busy, alone];
}

/**
 * The loop gets the traffic that the server had to carry beside its model: as many echoes a second of the same message.
 */
async function besideLoop(
  { load, rounds, isQuick, say }: BenchRun,
  ours: LoadTarget,
  { loop, echo }: { loop: BenchProgram; echo: LoadTarget },
): Promise<Figure> {
  say(`${IN_FLIGHT} in flight`);
  const press = { connections: 1, inFlight: IN_FLIGHT, seconds: isQuick ? 1 : 1.5 };
  let lastRate = rate(await load.runClean({ ...ours, ...press }));
  const results = await alternate(rounds, {
    ours: async () => {
      const result = await load.runClean({ ...ours, ...press });
      lastRate = rate(result);
      return result;
    },
    loop: async () => {
      const traffic = load.runClean({ ...echo, ...press, perSecond: lastRate });
      const answer = await loop.ask<LoopAnswer>({ seconds: press.seconds, overlap: 1 } satisfies LoopQuestion);
      await traffic;
      return { p50Ms: 0, p99Ms: 0, problems: {}, ...answer };
    },
  });
  return {
    name: `conv net (602 KB in), ${IN_FLIGHT} in flight: 1 model thread, 1 intra-op thread`,
    ours: perSecond(results.ours),
    ceiling: `${perSecond(results.loop)} session.run in a loop + echo traffic`,
    values: paired(results.ours, results.loop, (a, b) => rate(a) / rate(b)),
    unit: "×",
    target: { atLeast: 0.97 },
  };
}

async function oneByOne(bench: BenchRun, ours: LoadTarget, inline: LoadTarget): Promise<Figure> {
  bench.say("1 in flight");
  const results = await race(bench, { ours, inline }, { connections: 1, inFlight: 1, seconds: 1.5 });
  return {
    name: "conv net, 1 in flight, p50 over inline: 1 model thread, 1 intra-op thread",
    ours: typicalMs(results.ours),
    ceiling: `${typicalMs(results.inline)} session.run behind bare grpc-js`,
    values: paired(results.ours, results.inline, (a, b) => a.p50Ms - b.p50Ms),
    unit: "ms",
    target: { atMost: 0.6 },
  };
}

async function photos({ load, rounds, isQuick, say }: BenchRun, model: string, loop: BenchProgram): Promise<Figure> {
  say("photos");
  const photo = await makePhoto();
  const hooks = ["--hooks", benchFile("photo-hooks.ts")];
  const server = await startKserving(["--model-path", model, "--threads", "1", ...hooks]);
  const body = predictTensors({ photo: createTensor("bytes", [1], [photo]) });
  const ours = await grpcTarget(server.grpcPort, body, areScores);
  const seconds = isQuick ? 1 : 1.5;
  const press = { connections: 1, inFlight: IN_FLIGHT };
  await load.runClean({ ...ours, ...press, seconds: WARM_UP_SECONDS });
  const results = await alternate(rounds, {
    ours: async () => rate(await load.runClean({ ...ours, ...press, seconds })),
    loop: async () => {
      const { requests, seconds: took } = await loop.ask<LoopAnswer>({ seconds, photo, overlap: IN_FLIGHT });
      return requests / took;
    },
  });
  await server.stop();
  return {
    name: `JPEG 640×480 decoded and resized in a hook, then that net, ${IN_FLIGHT} in flight: 1 hook + 1 model thread`,
    ours: `${median(results.ours).toFixed(1)}/s`,
    ceiling: `${median(results.loop).toFixed(1)}/s decode + resize + session.run in a loop`,
    values: paired(results.ours, results.loop, (a, b) => a / b),
    unit: "×",
    target: { atLeast: 0.9 },
  };
}

function areScores({ y }: Tensors): boolean {
  return y?.data.length === 1000 && (y.data as Float32Array).every(Number.isFinite);
}

/** Gradients with some grain, about as large as a photo of this size. */
function makePhoto(): Promise<Buffer> {
  const [width, height] = [640, 480];
  const pixels = Buffer.alloc(width * height * 3);
  for (let at = 0; at < pixels.length; at++) pixels[at] = ((at / 3) % width) / 4 + ((at * 7919) % 61);
  return sharp(pixels, { raw: { width, height, channels: 3 } })
    .jpeg({ quality: 85 })
    .toBuffer();
}
