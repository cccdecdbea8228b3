import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { endChildrenOnSignal } from "../test/helpers/children.ts";
import { tableLines } from "../test/helpers/table.ts";
import { benchFile, startKserving } from "./engine/servers.ts";
import { median } from "./load.ts";
import { readServerParts, type ServerParts } from "./rest-vs-grpc/server-parts.ts";
import { askWires, type ClientWork, WIRE_NAMES, type WireName } from "./rest-vs-grpc/wires.ts";

/** A published model, and a time for it on a processor without a GPU. */
interface Published {
  readonly name: "classifier" | "detector";
  readonly size: number;
  /** Milliseconds with REST and with gRPC, where they were published. */
  readonly times?: Readonly<Partial<Record<WireName, number>>>;
  /** The outputs that clients ask for; absent = all. */
  readonly outputs?: readonly string[];
  readonly modelMs: number;
  readonly rounds: number;
}

/**
 * Averages of 999 calls, from the notebooks of the sample repository: g4dn.xlarge and g4dn.2xlarge. Theirs returns all
 * outputs of the detector; most clients want its boxes, of which the answer is small.
 */
const PUBLISHED: readonly Published[] = [
  { name: "classifier", size: 224, times: { "REST JSON": 266.5, gRPC: 58.6 }, modelMs: 15, rounds: 25 },
  { name: "detector", size: 640, times: { "REST JSON": 4057.8, gRPC: 468.4 }, modelMs: 400, rounds: 5 },
  { name: "detector", size: 640, outputs: ["detection_boxes", "detection_scores"], modelMs: 400, rounds: 5 },
];
/** Rounds before those that are counted, as a share of these: V8 optimizes what has run for a while. */
const WARM_UP = 1 / 5;
/** The share of the rounds that a quick run has. */
const QUICK = 1 / 2;

type Latencies = Readonly<Record<WireName, number>>;

/** Latencies, and what they consist of in the server, both medians; and the work of a client that is in neither. */
interface Measured {
  readonly latencies: Latencies;
  readonly parts: Readonly<Record<WireName, ServerParts>>;
  readonly work: Readonly<Record<WireName, ClientWork>>;
}

/**
 * Latency of a model by wire, one request at a time from a client that has its bodies ready: the table of the
 * publication that measured 4.5 and 8.7 times between REST and gRPC. Only ratios compare: theirs ran on a GPU and
 * contains the client's work.
 */
export async function runRestVsGrpc(args: readonly string[]): Promise<void> {
  const { quick } = parseArgs({ args: [...args], options: { quick: { type: "boolean", default: false } } }).values;
  endChildrenOnSignal();
  for (const published of PUBLISHED) {
    const without = await measure(published, 0, quick);
    const withModel = await measure(published, published.modelMs, quick);
    print(published, without.latencies, withModel.latencies);
    printParts(without);
  }
}

async function measure(published: Published, modelMs: number, isQuick: boolean): Promise<Measured> {
  const { name, size, outputs } = published;
  const [rounds, warmUp] = [published.rounds * (isQuick ? QUICK : 1), published.rounds * WARM_UP].map(Math.ceil);
  const options = ["-o", `published=${name}`, "-o", `model_ms=${modelMs}`];
  const server = await startKserving(["--driver", benchFile("published-models-driver.ts"), ...options]);
  const times = forWires<number[]>(() => []);
  const parts = forWires<ServerParts[]>(() => []);
  const work = forWires<ClientWork>(() => NO_WORK);
  const { ask, work: workOf, close } = await askWires(server, { size, outputs });
  try {
    for (let round = -warmUp!; round < rounds!; round++) {
      for (const wire of WIRE_NAMES) {
        const before = await readServerParts(server.httpPort);
        const started = performance.now();
        await ask(wire);
        const ms = performance.now() - started;
        if (round >= 0) times[wire].push(ms);
        if (round >= 0) parts[wire].push(difference(await readServerParts(server.httpPort), before));
        // What is freed after one wire's answer is not to be paid by the next.
        await wait(20);
      }
    }
    if (modelMs === 0) for (const wire of WIRE_NAMES) work[wire] = await workOf(wire);
  } finally {
    close();
    await server.stop();
  }
  return {
    latencies: forWires((wire) => median(times[wire])),
    parts: forWires((wire) => ({
      decodeMs: median(parts[wire].map(({ decodeMs }) => decodeMs)),
      encodeMs: median(parts[wire].map(({ encodeMs }) => encodeMs)),
    })),
    work,
  };
}

const NO_WORK: ClientWork = { composeMs: 0, readMs: 0 };

function forWires<Value>(make: (wire: WireName) => Value): Record<WireName, Value> {
  return Object.fromEntries(WIRE_NAMES.map((wire) => [wire, make(wire)])) as Record<WireName, Value>;
}

function difference(after: ServerParts, before: ServerParts): ServerParts {
  return { decodeMs: after.decodeMs - before.decodeMs, encodeMs: after.encodeMs - before.encodeMs };
}

function print({ name, size, times, outputs, modelMs }: Published, without: Latencies, withModel: Latencies): void {
  const cells = (latencies: Latencies, wire: WireName) => [
    `${latencies[wire].toFixed(1)} ms`,
    `${(latencies[wire] / latencies.gRPC).toFixed(2)} ×`,
  ];
  const rows = WIRE_NAMES.map((wire) => {
    const { [wire]: published, gRPC: grpc } = times ?? {};
    const isCited = published !== undefined && grpc !== undefined;
    const cited = isCited ? [`${published} ms`, `${(published / grpc).toFixed(2)} ×`] : ["-", "-"];
    return [wire, ...cells(without, wire), ...cells(withModel, wire), ...cited];
  });
  const heading = [
    `${name}, ${size} x ${size} x 3${outputs === undefined ? "" : `, ${outputs.length} outputs`}`,
    "without model",
    "",
    `model of ${modelMs} ms`,
    "",
    "published",
    "",
  ];
  const [bare, whole] = [without, withModel].map((latencies) => latencies["REST b64 JPEG"] / latencies["gRPC JPEG"]);
  console.log(tableLines([heading, ...rows]).join("\n"));
  console.log(`The JPEG by REST b64 takes ${bare!.toFixed(2)} and ${whole!.toFixed(2)} × the time of gRPC.\n`);
}

function printParts({ parts, work }: Measured): void {
  const heading = [
    "without model, of which",
    "server reads",
    "server writes",
    "and in addition:",
    "client writes",
    "reads",
  ];
  const rows = WIRE_NAMES.map((wire) => {
    const { decodeMs, encodeMs } = parts[wire];
    const { composeMs, readMs } = work[wire];
    const [reads, writes, composed, read] = [decodeMs, encodeMs, composeMs, readMs].map((ms) => `${ms.toFixed(1)} ms`);
    return [wire, reads, writes, "", composed, read] as string[];
  });
  console.log(`${tableLines([heading, ...rows]).join("\n")}\n`);
}
