import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { encodePredictRequest } from "../src/protocols/tensorflow-serving/grpc-codec.ts";
import { NO_MODEL_SPEC } from "../src/protocols/tensorflow-serving/model-spec.ts";
import { createTensor } from "../src/tensor/tensor.ts";
import { endChildrenOnSignal } from "../test/helpers/children.ts";
import { startCommand } from "../test/helpers/start-command.ts";
import { grpcSend } from "./clients.ts";
import { alternate, paired } from "./engine/bench-run.ts";
import type { Figure } from "./engine/figure.ts";
import { median, runLoad, type Send } from "./load.ts";
import { printFigures } from "./print-figures.ts";
import { PYTHON } from "./python-side.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PORTS = ["--http-enable", "--port", "0", "--http-port", "0"];
const PAGE = join(ROOT, "examples/photos/page.png");
const FIND_MODELS =
  "import os, cv2, rapidocr_onnxruntime as p; print(os.path.join(os.path.dirname(p.__file__), 'models'))";

interface Addresses {
  readonly grpc: string;
  readonly http: string;
}

interface Case {
  readonly name: string;
  /** The program's arguments, but for `--hooks`. */
  readonly flags: readonly string[];
  /** The hook file without its ending, of which there are two. */
  readonly hooks: { readonly ts: string; readonly py: string };
  readonly inFlight: number;
  readonly connect: (at: Addresses) => { readonly send: Send; readonly close: () => void };
}

/** Hooks in Python beside the same hooks in TypeScript: whole requests, a server each. */
export async function runHooksPython(args: readonly string[]): Promise<void> {
  const { quick } = parseArgs({ args: [...args], options: { quick: { type: "boolean", default: false } } }).values;
  endChildrenOnSignal();
  const rounds = quick ? 5 : 20;
  const figures: Figure[] = [];
  for (const each of [...echoCases(), ...ocrCases()]) figures.push(await measure(each, rounds, quick ? 0.5 : 1));
  printFigures(figures, rounds, "Latencies are p50 of whole requests; the figure is Python's time over TypeScript's.");
}

function echoCases(): Case[] {
  const echo = (name: string, floats: number, inFlight: number): Case => ({
    name,
    flags: ["--driver", "null", "--tensor-content"],
    hooks: { ts: join(ROOT, "bench/identity-hooks.ts"), py: join(ROOT, "bench/python/identity_hooks.py") },
    inFlight,
    connect: ({ grpc }) => grpcEcho(grpc, floats),
  });
  return [
    echo("both hooks, 16 floats, gRPC", 16, 1),
    echo("the same, 16 in flight", 16, 16),
    echo("both hooks, 602 KB, gRPC", 150_528, 1),
  ];
}

/** None where PYTHON has no rapidocr_onnxruntime, whose models the example runs. */
function ocrCases(): Case[] {
  try {
    const folder = execFileSync(PYTHON, ["-c", FIND_MODELS], { stdio: ["ignore", "pipe", "ignore"] })
      .toString()
      .trim();
    const model = (name: string) => ["--driver", "onnx", "--model-path", join(folder, name)];
    const models = [...model("ch_PP-OCRv4_det_infer.onnx"), ...model("ch_PP-OCRv4_rec_infer.onnx")];
    const flags = [...models, "-o", "mean=127.5", "-o", "scale=127.5"];
    const hooks = { ts: join(ROOT, "examples/hooks/ocr.ts"), py: join(ROOT, "examples/hooks/ocr.py") };
    return [
      { name: "ocr on a page with five lines", flags, hooks, inFlight: 1, connect: ({ http }) => pageSend(http) },
    ];
  } catch {
    console.log(`without ocr: ${PYTHON} has no rapidocr_onnxruntime (PYTHON names another interpreter)`);
    return [];
  }
}

async function measure(
  { name, flags, hooks, inFlight, connect }: Case,
  rounds: number,
  seconds: number,
): Promise<Figure> {
  const start = (own: readonly string[]) =>
    startCommand([process.execPath, join(ROOT, "bin/kserving.cjs"), ...flags, ...PORTS, ...own]);
  const servers = {
    py: await start(["--hooks", hooks.py, "-o", `python=${PYTHON}`]),
    ts: await start(["--hooks", hooks.ts]),
  };
  const clients = { py: connect(servers.py), ts: connect(servers.ts) };
  const side = (send: Send) => async () => (await runLoad(send, { inFlight, seconds })).p50Ms;
  const sides = { py: side(clients.py.send), ts: side(clients.ts.send) };
  for (const run of Object.values(sides)) await run();
  const { py, ts } = await alternate(rounds, sides);
  for (const { close } of Object.values(clients)) close();
  for (const { stop } of Object.values(servers)) await stop();
  return {
    name,
    ours: `${median(py).toFixed(2)} ms`,
    ceiling: `${median(ts).toFixed(2)} ms TypeScript`,
    values: paired(py, ts, (one, other) => one / other),
    unit: "×",
  };
}

function grpcEcho(address: string, floats: number): ReturnType<Case["connect"]> {
  const data = Float32Array.from({ length: floats }, (_, index) => index / 7);
  const inputs = { x: createTensor("float32", [1, floats], data) };
  const message = encodePredictRequest({ spec: NO_MODEL_SPEC, inputs, outputFilter: [] }, "content");
  return grpcSend(address, Buffer.from(message), Buffer.from(data.buffer));
}

function pageSend(url: string): ReturnType<Case["connect"]> {
  const image = new Blob([readFileSync(PAGE)]);
  const send = async () => {
    const form = new FormData();
    form.append("bytes_image", image, "page.png");
    const answer = await fetch(`${url}/predict`, { method: "POST", body: form });
    if (!(await answer.text()).includes("PAID IN FULL"))
      throw new Error(`status ${answer.status}: not the page's text`);
  };
  return { send, close: () => {} };
}
