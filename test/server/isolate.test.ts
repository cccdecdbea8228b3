import { spawnSync } from "node:child_process";
import { readFileSync, truncateSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createServer } from "../../src/server/server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

/** A library that writes to where no memory is. */
const CRASH = `
int crash_for(int value) {
  if (value == -1) *(volatile int *) 8 = value;
  return value;
}`;

const DRIVER = `
import { pathToFileURL } from "node:url";
import { createTensor, defineDriver } from "kserving";
export default defineDriver({
  name: "native",
  options: { library: { type: "string" }, koffi: { type: "string" } },
  pathless: true,
  load: async (_, { library, koffi: place }) => {
    const { default: koffi } = await import(pathToFileURL(place).href);
    const run = koffi.load(library).func("int crash_for(int)");
    const spec = { dtype: "int32", shape: [1] };
    return {
      signatures: { serving_default: { inputs: [{ name: "x", ...spec }], outputs: [{ name: "y", ...spec }] } },
      predict: async ({ x }) => ({ y: createTensor("int32", [1], Int32Array.of(run(x.data[0]))) }),
      close: async () => {},
    };
  },
});`;

const hasCompiler = spawnSync("gcc", ["--version"]).status === 0;

/** A driver's folder with its library compiled. */
function compiled(): { readonly driver: string; readonly library: string } {
  const folder = tempFolder({ "crash.c": CRASH, "native.ts": DRIVER });
  const library = join(folder, "libcrash.so");
  const { status, stderr } = spawnSync("gcc", ["-shared", "-fPIC", "-o", library, join(folder, "crash.c")]);
  expect(status, String(stderr)).toBe(0);
  return { driver: join(folder, "native.ts"), library };
}

async function start() {
  const { driver, library } = compiled();
  const koffi = createRequire(import.meta.url).resolve("koffi");
  const model = { driver, options: { library, koffi } };
  const server = await createServer({ models: { fragile: { ...model, isolate: true }, other: model }, http: {} });
  onTestFinished(() => server.close());
  const url = (name: string) => `${server.httpUrl}/v1/models/${name}`;
  const ask = async (name: string, x: number) => {
    const response = await fetch(`${url(name)}:predict`, { method: "POST", body: JSON.stringify({ inputs: [x] }) });
    return { status: response.status, body: (await response.json()) as unknown };
  };
  const isReady = async () => (await fetch(`${server.httpUrl}/v2/models/fragile/ready`)).ok;
  const metrics = async () => (await fetch(`${server.httpUrl}/metrics`)).text();
  return { ask, isReady, metrics };
}

const MEMORY = /^kserving_model_process_resident_memory_bytes\{model="(.*)",version="1"\} (.*)$/gm;

/** Says why the test is skipped, where it is. */
const TITLE = hasCompiler ? "" : " (skipped: there is no gcc, which compiles the library)";

test.runIf(hasCompiler)(
  `a library that crashes costs its model's requests and no others, and the model comes back${TITLE}`,
  async () => {
    const { ask, isReady, metrics } = await start();
    let isOver = false;
    const statuses: number[] = [];
    const load = Promise.all(
      Array.from({ length: 4 }, async () => {
        while (!isOver) statuses.push((await ask("other", 5)).status);
      }),
    );
    expect(await ask("fragile", 3)).toEqual({ status: 200, body: { outputs: [3] } });
    const error =
      "The request was lost: the process of the model fragile crashed (SIGSEGV). The model is loaded again.";
    expect(await ask("fragile", -1)).toEqual({ status: 503, body: { error } });
    expect(await isReady()).toBe(false);
    while (!(await isReady())) await ask("other", 1);
    expect(await ask("fragile", 4)).toEqual({ status: 200, body: { outputs: [4] } });
    isOver = true;
    await load;
    expect(statuses.length).toBeGreaterThan(10);
    expect(new Set(statuses)).toEqual(new Set([200]));
    const text = await metrics();
    expect(text).toContain('kserving_threads_lost_total{model="fragile",version="1",kind="model"} 1');
    if (process.platform !== "linux") return;
    const memory = [...text.matchAll(MEMORY)].map(([, model, bytes]) => [model, Number(bytes) > 20e6]);
    expect(memory).toEqual([["fragile", true]]);
  },
);

test("ONNX Runtime ends with SIGBUS where the weights of its model are cut short, and the server goes on", async () => {
  const models = new URL("../fixtures/models/", import.meta.url);
  const files = ["external-data.onnx", "external-data.bin"] as const;
  const folder = tempFolder(Object.fromEntries(files.map((name) => [name, readFileSync(new URL(name, models))])));
  const path = join(folder, "external-data.onnx");
  const server = await createServer({ models: { cut: { path, isolate: true } }, http: {} });
  onTestFinished(() => server.close());
  const ask = async () => {
    const body = JSON.stringify({ inputs: [1, 2, 3] });
    const response = await fetch(`${server.httpUrl}/v1/models/cut:predict`, { method: "POST", body });
    return (await response.json()) as unknown;
  };
  expect(await ask()).toHaveProperty("outputs");
  truncateSync(join(folder, "external-data.bin"));
  expect(await ask()).toEqual({
    error: "The request was lost: the process of the model cut crashed (SIGBUS). The model is loaded again.",
  });
});
