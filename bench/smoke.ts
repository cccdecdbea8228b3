import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { encodePredictRequest } from "../src/protocols/tensorflow-serving/grpc-codec.ts";
import { NO_MODEL_SPEC } from "../src/protocols/tensorflow-serving/model-spec.ts";
import { createTensor } from "../src/tensor/tensor.ts";
import { startCommand } from "../test/helpers/start-command.ts";
import { grpcSend, httpSend } from "./clients.ts";
import { type LoadResult, median, runLoad, type Send } from "./load.ts";

const BIN = fileURLToPath(new URL("../bin/kserving.cjs", import.meta.url));
const FLAGS = ["--driver", "null", "--http-enable", "--port", "0", "--http-port", "0", "--tensor-content"];
const ROUNDS = 5;
const SECONDS = 1.5;

interface Addresses {
  readonly grpc: string;
  readonly http: string;
}

interface Case {
  readonly name: string;
  readonly inFlight: number;
  readonly connect: (addresses: Addresses) => { send: Send; close: () => void };
}

const CASES: readonly Case[] = [
  { name: "gRPC, 16 floats", inFlight: 32, connect: ({ grpc }) => grpcEcho(grpc, 16) },
  { name: "gRPC, 602 KB", inFlight: 8, connect: ({ grpc }) => grpcEcho(grpc, 150_528) },
  { name: "HTTP, 16 floats", inFlight: 32, connect: ({ http }) => httpEcho(http, 16) },
  { name: "HTTP, 602 KB of JSON", inFlight: 8, connect: ({ http }) => httpEcho(http, 86_000) },
];

/** Echo with the null driver against bare servers: requests per second, p50 and p99, and their ratio. */
export async function runSmoke(): Promise<void> {
  const ours = await startCommand([process.execPath, BIN, ...FLAGS]);
  const bare = fork(fileURLToPath(new URL("./echo-server.ts", import.meta.url)));
  try {
    const [bareAt] = await once(bare, "message");
    console.log(`kserving (null driver) beside bare grpc-js and node:http echo servers;`);
    console.log(`medians of ${ROUNDS} alternating rounds of ${SECONDS} s, load from a process on the same machine`);
    console.log(
      row("case", "in flight", "ours req/s", "bare req/s", "ratio", "ours p50 ms", "ours p99 ms", "bare p99 ms"),
    );
    for (const each of CASES) console.log(await measure(each, ours, bareAt));
  } finally {
    bare.disconnect();
    await ours.stop();
  }
}

async function measure({ name, inFlight, connect }: Case, oursAt: Addresses, bareAt: Addresses): Promise<string> {
  const ours = connect(oursAt);
  const bare = connect(bareAt);
  const rounds: { ours: LoadResult; bare: LoadResult }[] = [];
  for (const { send } of [ours, bare]) await runLoad(send, { inFlight, seconds: SECONDS / 2 });
  for (let round = 0; round < ROUNDS; round++) {
    const load = { inFlight, seconds: SECONDS };
    rounds.push({ ours: await runLoad(ours.send, load), bare: await runLoad(bare.send, load) });
  }
  ours.close();
  bare.close();
  const of = (figure: (round: (typeof rounds)[number]) => number) => median(rounds.map(figure));
  const ratio = of((round) => round.ours.requestsPerSecond / round.bare.requestsPerSecond);
  return row(
    name,
    String(inFlight),
    of((round) => round.ours.requestsPerSecond).toFixed(0),
    of((round) => round.bare.requestsPerSecond).toFixed(0),
    ratio.toFixed(2),
    of((round) => round.ours.p50Ms).toFixed(2),
    of((round) => round.ours.p99Ms).toFixed(2),
    of((round) => round.bare.p99Ms).toFixed(2),
  );
}

function grpcEcho(address: string, floats: number): { send: Send; close: () => void } {
  const data = Float32Array.from({ length: floats }, (_, index) => index / 7);
  const tensors = { x: createTensor("float32", [1, floats], data) };
  const message = Buffer.from(
    encodePredictRequest({ spec: NO_MODEL_SPEC, inputs: tensors, outputFilter: [] }, "content"),
  );
  return grpcSend(address, message, Buffer.from(data.buffer));
}

function httpEcho(url: string, floats: number): { send: Send; close: () => void } {
  const values = Array.from({ length: floats }, (_, index) => (index % 1000) + 0.25);
  const body = Buffer.from(JSON.stringify({ instances: [values] }));
  return httpSend(`${url}/v1/models/default:predict`, body, Buffer.from("2.25"));
}

const WIDTHS = [22, 11, 12, 12, 7, 13, 13, 13];

function row(...cells: readonly string[]): string {
  return cells
    .map((cell, index) => (index === 0 ? cell.padEnd(WIDTHS[0] as number) : cell.padStart(WIDTHS[index] as number)))
    .join("");
}
