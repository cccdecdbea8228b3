import { rmSync, writeFileSync } from "node:fs";
import { methodPath } from "../../src/client/remote/infer-message.ts";
import { encodeAs } from "../../src/tensor/codecs/protobuf/proto-messages.ts";
import { createTensor, createTensors, toBytes } from "../../src/tensor/tensor.ts";
import { type BenchRun, type Group, paired } from "../engine/bench-run.ts";
import type { Figure } from "../engine/figure.ts";
import { floats, grpcAnswer, holds } from "../engine/messages.ts";
import { type BenchServer, startKserving } from "../engine/servers.ts";
import { withGrpcPrefix } from "../load/grpc-connection.ts";
import type { LoadTarget } from "../load/load-job.ts";
import { cpuRace, type Side, typicalUs } from "./cpu-race.ts";
import { grpcTargets, httpTargets, REST_PATH } from "./messages.ts";

/** One image of 224 x 224 in float32: 602 KB. */
const SHAPE = [1, 3, 224, 224];
const DATA = floats(150_528);
const INPUTS = createTensors([["x", createTensor("float32", SHAPE, DATA)]]);
const KEYS = { in: `/kserving-bench-in-${process.pid}`, out: `/kserving-bench-out-${process.pid}` };
const PRESSES = [1, 8];

/** A large tensor there and back in memory that client and server share, next to messages with the same values. */
export const sharedMemory: Group = {
  name: "shared memory",
  run: async (bench) => {
    const server = await startKserving(["--driver", "null", "--allow-client-shm"]);
    try {
      await register(server);
      const check = (outputs: typeof INPUTS) => holds(outputs, DATA);
      const http = await httpTargets(server.httpPort, INPUTS, { check });
      const grpc = await grpcTargets(server.grpcPort, INPUTS, check);
      const targets = {
        http: http.ours,
        sharedHttp: await sharedOverHttp(server),
        grpc: grpc.ours,
        sharedGrpc: await sharedOverGrpc(server),
      };
      const figures: Figure[] = [];
      for (const inFlight of PRESSES) figures.push(...(await race(bench, server.pid, { targets, inFlight })));
      return figures;
    } finally {
      await server.stop();
      for (const key of Object.values(KEYS)) rmSync(`/dev/shm${key}`, { force: true });
    }
  },
};

interface Race {
  readonly targets: Readonly<Record<"http" | "sharedHttp" | "grpc" | "sharedGrpc", LoadTarget>>;
  readonly inFlight: number;
}

async function race(bench: BenchRun, pid: number, { targets, inFlight }: Race): Promise<Figure[]> {
  bench.say(`${inFlight} in flight`);
  const side = (target: LoadTarget): Side => ({ pid, target });
  const sides = {
    http: side(targets.http),
    sharedHttp: side(targets.sharedHttp),
    grpc: side(targets.grpc),
    sharedGrpc: side(targets.sharedGrpc),
  };
  const turns = await cpuRace(bench, sides, { connections: inFlight, inFlight, requests: 1200 });
  const figure = (wire: string, shared: typeof turns.http, sent: typeof turns.http): Figure => ({
    name: `602 KB in shared memory over in messages, ${wire}, ${inFlight} in flight, CPU: null driver`,
    ours: typicalUs(shared),
    ceiling: `${typicalUs(sent)} in messages`,
    values: paired(shared, sent, (a, b) => a.cpuUs / b.cpuUs),
    unit: "×",
  });
  return [figure("V2 HTTP binary", turns.sharedHttp, turns.http), figure("V2 gRPC", turns.sharedGrpc, turns.grpc)];
}

const PLACES = {
  in: { shared_memory_region: "in", shared_memory_byte_size: DATA.byteLength },
  out: { shared_memory_region: "out", shared_memory_byte_size: DATA.byteLength },
};

async function register({ httpPort }: BenchServer): Promise<void> {
  writeFileSync(`/dev/shm${KEYS.in}`, toBytes(DATA));
  writeFileSync(`/dev/shm${KEYS.out}`, new Uint8Array(DATA.byteLength));
  for (const [name, key] of Object.entries(KEYS)) {
    const body = JSON.stringify({ key, byte_size: DATA.byteLength });
    await post(`http://127.0.0.1:${httpPort}/v2/systemsharedmemory/region/${name}/register`, body);
  }
}

async function sharedOverHttp({ httpPort: port }: BenchServer): Promise<LoadTarget> {
  const inputs = [{ name: "x", datatype: "FP32", shape: SHAPE, parameters: PLACES.in }];
  const body = JSON.stringify({ inputs, outputs: [{ name: "x", parameters: PLACES.out }] });
  const bytes = await post(`http://127.0.0.1:${port}${REST_PATH}`, body);
  return { protocol: "http", port, path: REST_PATH, messages: [{ body: Buffer.from(body), expected: { bytes } }] };
}

async function sharedOverGrpc({ grpcPort: port }: BenchServer): Promise<LoadTarget> {
  const parameters = ({ shared_memory_region: region, shared_memory_byte_size: bytes }: typeof PLACES.in) => ({
    shared_memory_region: { string_param: region },
    shared_memory_byte_size: { int64_param: bytes },
  });
  const body = Buffer.from(
    encodeAs("inference.ModelInferRequest", {
      model_name: "default",
      inputs: [{ name: "x", datatype: "FP32", shape: SHAPE, parameters: parameters(PLACES.in) }],
      outputs: [{ name: "x", parameters: parameters(PLACES.out) }],
    }),
  );
  const answer = await grpcAnswer(port, body, methodPath("ModelInfer"));
  const message = { body, expected: { bytes: withGrpcPrefix(answer) } };
  return { protocol: "grpc", port, path: methodPath("ModelInfer"), messages: [message] };
}

async function post(url: string, body: string): Promise<Buffer> {
  const response = await fetch(url, { method: "POST", body });
  const answer = Buffer.from(await response.arrayBuffer());
  if (response.status !== 200) throw new Error(`${url} answered with ${response.status}: ${answer}`);
  return answer;
}
