import type { Group } from "./bench-run.ts";
import { type BenchRun, throughputRatios } from "./bench-run.ts";
import type { Figure } from "./figure.ts";
import { httpTarget } from "./messages.ts";
import { perSecond, race } from "./race.ts";
import { type BenchServer, benchFile, startKserving, startProgram } from "./servers.ts";

const SIDE = 224;
const VALUES = 1000;

/** JSON over HTTP, small and large. */
export const rest: Group = {
  name: "REST",
  run: async (bench) => {
    const echo = await startKserving(["--driver", "null"]);
    const bare = await startProgram("echo-server.ts");
    const tiny = await tinyEcho(bench, echo, bare);
    await echo.stop();
    bare.stop();
    const model = ["--driver", benchFile("first-values-driver.ts"), "--model-path", "none"];
    const images = await startKserving(model);
    const express = await startProgram("express-server.ts");
    const image = await imageInJson(bench, images, express);
    await images.stop();
    express.stop();
    return [tiny, image];
  },
};

type Ports = Pick<BenchServer, "httpPort">;

async function tinyEcho(bench: BenchRun, ours: Ports, bare: Ports): Promise<Figure> {
  bench.say("tiny echo, 32 in flight");
  const row = Array.from({ length: 16 }, (_, index) => index + 0.25);
  const body = Buffer.from(JSON.stringify({ instances: [row] }));
  const targets = {
    ours: await httpTarget(ours.httpPort, body, ({ predictions }) => isEqual(predictions, [row])),
    bare: await httpTarget(bare.httpPort, body, ({ instances }) => isEqual(instances, [row])),
  };
  const results = await race(bench, targets, { connections: 32, inFlight: 32, seconds: 1 });
  return {
    name: "tiny REST echo (row JSON), 32 in flight: null driver, inline",
    ours: perSecond(results.ours),
    ceiling: `${perSecond(results.bare)} bare node:http`,
    values: throughputRatios(results.ours, results.bare),
    unit: "×",
    target: { atLeast: 0.6 },
  };
}

async function imageInJson(bench: BenchRun, ours: Ports, express: Ports): Promise<Figure> {
  const value = (index: number) => ((index * 7919) % 100_003) / 100_003;
  const pixel = (at: number) => [value(at), value(at + 1), value(at + 2)];
  const line = (y: number) => Array.from({ length: SIDE }, (_, x) => pixel(3 * (y * SIDE + x)));
  const body = Buffer.from(JSON.stringify({ instances: [Array.from({ length: SIDE }, (_, y) => line(y))] }));
  const isRight = ({ predictions }: { readonly [key: string]: unknown }) =>
    (predictions as number[][])[0]?.every((got, index) => Math.abs(got - value(index)) < 1e-6) === true &&
    (predictions as number[][])[0]?.length === VALUES;
  bench.say(`${(body.length / 1e6).toFixed(1)} MB of JSON, 4 in flight`);
  const targets = {
    ours: await httpTarget(ours.httpPort, body, isRight),
    express: await httpTarget(express.httpPort, body, isRight),
  };
  const results = await race(bench, targets, { connections: 4, inFlight: 4, seconds: 1 });
  return {
    name: "3 MB JSON image → tensor → 1000 floats JSON, 4 in flight: 1 model thread",
    ours: perSecond(results.ours),
    ceiling: `${perSecond(results.express)} Express + JSON.parse`,
    values: throughputRatios(results.ours, results.express),
    unit: "×",
    target: { atLeast: 2.5 },
  };
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
