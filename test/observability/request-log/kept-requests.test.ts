import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { ServingError } from "../../../src/errors.ts";
import { decodePredictRequest } from "../../../src/protocols/tensorflow-serving/grpc-codec.ts";
import { createServer } from "../../../src/server/server.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { runKserving, type StartedProgram, startKserving } from "../../cli/start-kserving.ts";
import { IMPORT_PATH } from "../../drivers/python/load-model.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { findPython } from "../../helpers/find-python.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { logFiles, readLogs } from "./recorded-files.ts";

const HALF = resolve("test/fixtures/models/half-plus-two.onnx");
const MORTAL = resolve("test/faults/mortal-driver.ts");
const TWO = `models:\n  - { name: mortal, driver: ${MORTAL} }\n  - { name: half, path: ${HALF} }\n`;
const SIGSEGV = 11;
const SIGABRT = 6;
const MAX_FILES = 16;
const MAX_BYTES = 1e6;

async function startKeeping(folder: string, models = TWO) {
  const config = join(tempFolder({ "models.yaml": models }), "models.yaml");
  const program = startKserving([
    ...["--config", config, "--keep-fatal-requests", folder, "--drain-timeout=0.5"],
    ...["--host=127.0.0.1", "--port=0", "--http-enable", "--http-port=0"],
  ]);
  const { http, grpc } = (await program.event("ready")) as unknown as { readonly http: string; readonly grpc: string };
  const ask = async (name: string, body: object) => {
    // A connection that is kept may be lost when it is used again.
    const init = { method: "POST", headers: { connection: "close" }, body: JSON.stringify(body) };
    const response = await fetch(`${http}/v1/models/${name}:predict`, init);
    return { status: response.status, body: (await response.json()) as unknown };
  };
  return { program, grpc, ask };
}

async function end(program: StartedProgram): Promise<void> {
  program.kill("SIGTERM");
  expect(await program.ended()).toMatchObject({ code: 0 });
}

/** The model and the first value of each kept request. */
async function keptIn(folder: string) {
  const logs = await readLogs(...logFiles(folder));
  return logs.map(({ request, response }) => {
    const { spec, inputs } = decodePredictRequest(request, MAX_BYTES);
    return { model: spec.model, value: Number(inputs.x!.data[0]), response };
  });
}

const ofMortal = (value: number) => ({ model: "mortal", value, response: undefined });
const underWay = (folder: string) => readdirSync(folder).filter((name) => name.startsWith("."));

test("the request that ends the server, or its model's process, is kept and can be sent again", async () => {
  const folder = join(tempFolder(), "fatal");
  const { program, ask } = await startKeeping(folder);
  expect(await ask("half", { inputs: [2] })).toMatchObject({ status: 200 });
  await expect(ask("mortal", { inputs: [SIGSEGV] })).rejects.toThrow();
  expect(await ask("half", { inputs: [4] })).toMatchObject({ status: 200 });
  const [file] = logFiles(folder);
  expect(file).toMatch(/\/fatal-mortal-\d{8}T\d{6}\.\d{3}Z\.tfrecord$/);
  const told = await program.event("a request that was under way when its process ended is kept in [^ ]*; .*");
  expect(told).toMatchObject({
    level: "warn",
    file,
    msg: expect.stringContaining(`kserving replay ${file} --against`),
  });
  expect(statSync(file!).mode & 0o777).toBe(0o600);
  expect(await keptIn(folder)).toEqual([ofMortal(SIGSEGV)]);

  // Isolated from now on.
  await expect.poll(() => ask("mortal", { inputs: [0] })).toMatchObject({ status: 200 });
  expect(await ask("mortal", { inputs: [SIGABRT] })).toMatchObject({ status: 503 });
  expect(await keptIn(folder)).toEqual([ofMortal(SIGSEGV), ofMortal(SIGABRT)]);
  await end(program);
  expect(underWay(folder)).toEqual([]);

  const good = await startKeeping(tempFolder(), `models:\n  - { name: mortal, path: ${HALF} }\n`);
  const replayed = await runKserving(["replay", file!, "--against", good.grpc]);
  expect(replayed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^1 +0 +0 +0 +1 /m) });
});

const SLOW = `
import { DEFAULT_SIGNATURE, defineDriver } from "kserving";

export default defineDriver({
  name: "slow",
  options: {},
  pathless: true,
  load: async (_, __, { log }) => ({
    signatures: { [DEFAULT_SIGNATURE]: {} },
    concurrency: 8,
    predict: ({ x }, { signal }) =>
      new Promise((resolve, reject) => {
        log.info("it waits");
        signal.addEventListener("abort", () => reject(signal.reason));
      }),
    close: async () => {},
  }),
});
`;

test("requests that were under way at other models, and those of a normal end, are not kept", async () => {
  const folder = tempFolder();
  const slow = join(tempFolder({ "slow.ts": SLOW }), "slow.ts");
  // A model whose runs are not marked waits in JavaScript alone.
  const models = `${TWO}  - { name: slow, driver: ${slow}, isolate: true }\n`;
  const { program, ask } = await startKeeping(folder, models);
  const lost = expect(ask("slow", { inputs: [1] })).rejects.toThrow();
  await program.event("it waits");
  expect(underWay(folder)).toHaveLength(1);
  await expect(ask("mortal", { inputs: [SIGSEGV] })).rejects.toThrow();
  await lost;
  await ask("half", { inputs: [4] });
  expect(await keptIn(folder)).toEqual([ofMortal(SIGSEGV)]);
  expect(underWay(folder)).toEqual([]);

  const cut = ask("slow", { inputs: [1] }).catch(() => {});
  await expect.poll(() => underWay(folder).length).toBe(1);
  program.kill("SIGTERM");
  await program.ended();
  await cut;
  expect(underWay(folder)).toEqual([]);
  expect(logFiles(folder)).toHaveLength(1);
});

test("requests of every form are kept in theirs", async () => {
  const folder = tempFolder();
  const { program, ask } = await startKeeping(folder, TWO);
  const { http } = (await program.event("ready")) as unknown as { readonly http: string };
  const lost = [
    () => fetch(`${http}/v1/models/mortal:regress`, post({ examples: [{ x: SIGSEGV }] })),
    () => ask("mortal", { instances: [SIGSEGV], signature_name: "serving_default" }),
  ];
  await expect(lost[0]!()).rejects.toThrow();
  expect(await ask("half", { inputs: [2] })).toMatchObject({ status: 200 });
  // A model that is still loading would answer 503, too.
  await expect.poll(async () => (await fetch(`${http}/v2/models/mortal/ready`)).status, { timeout: 30_000 }).toBe(200);
  expect(await lost[1]!()).toMatchObject({ status: 503 });
  const kinds = (await readLogs(...logFiles(folder))).map(({ kind }) => kind);
  expect(kinds).toEqual(["regress_log", "predict_log"]);
});

const post = (body: object) => ({ method: "POST", headers: { connection: "close" }, body: JSON.stringify(body) });

test("16 files are kept, and what a process has begun to write is none", async () => {
  const old = Array.from({ length: MAX_FILES }, (_, index) => {
    const second = String(index).padStart(2, "0");
    return [`fatal-m-20200101T0000${second}.000Z.tfrecord`, "old"] as const;
  });
  const part = ".under-way-999999999-1-1-m";
  const folder = tempFolder({ ...Object.fromEntries(old), [part]: "half a rec", "other.txt": "of somebody" });
  const { program, ask } = await startKeeping(folder);
  expect(readdirSync(folder)).not.toContain(part);
  await expect(ask("mortal", { inputs: [SIGSEGV] })).rejects.toThrow();
  await ask("half", { inputs: [2] });
  const names = readdirSync(folder);
  expect(names).toHaveLength(MAX_FILES + 1);
  expect(names).toContain("other.txt");
  expect(names).toContain(old[1]![0]);
  expect(names).not.toContain(old[0]![0]);
  await end(program);
});

test("the first requests of a process that ends with many are kept", async () => {
  const folder = tempFolder();
  const { program, ask } = await startKeeping(folder);
  await expect(ask("mortal", { inputs: [SIGSEGV] })).rejects.toThrow();
  await ask("half", { inputs: [2] });
  const statuses = await Promise.all(
    Array.from({ length: 3 * MAX_FILES }, (_, index) => ask("mortal", { inputs: [index === 0 ? SIGSEGV : 0] })),
  );
  expect(statuses.some(({ status }) => status === 503)).toBe(true);
  expect(logFiles(folder).length).toBeLessThanOrEqual(MAX_FILES);
  expect((await keptIn(folder)).filter(({ value }) => value === SIGSEGV).length).toBeGreaterThan(0);
  await end(program);
  expect(underWay(folder)).toEqual([]);
});

test("a request that a hook passes to a model is kept as its client sent it", async () => {
  const folder = tempFolder();
  const hooks = join(
    tempFolder({ "hooks.js": `export const preprocess = ({ half }) => ({ x: [Number(half.data[0]) * 2] });` }),
    "hooks.js",
  );
  const models = `models:\n  - { name: mortal, driver: ${MORTAL}, isolate: true, hooks: ${hooks} }\n`;
  const { program, ask } = await startKeeping(folder, models);
  expect(await ask("mortal", { inputs: { half: 0 } })).toMatchObject({ status: 200 });
  expect(await ask("mortal", { inputs: { half: SIGABRT / 2 } })).toMatchObject({ status: 503 });
  const [kept, ...others] = await readLogs(...logFiles(folder));
  expect(Number(decodePredictRequest(kept!.request, MAX_BYTES).inputs.half!.data[0])).toBe(SIGABRT / 2);
  expect(others).toEqual([]);
  await end(program);
});

const python = findPython("Requests that end a process of Python", ["numpy"]);

test.skipIf(python === undefined)(
  "a request that ends a Python process is kept, and one that fails is not",
  async () => {
    const folder = tempFolder();
    const options = { python: python as string, model_class: "toy.models:Faulty", import_path: IMPORT_PATH };
    const models = { faulty: { driver: "python", options } };
    const server = await createServer({ models, keepFatalRequests: { folder } });
    for (const fault of ["throws", "kills_itself"])
      await expect(server.predict("faulty", { fault })).rejects.toThrow(ServingError);
    await server.close();
    const [kept, ...others] = await readLogs(...logFiles(folder));
    const { inputs } = decodePredictRequest(kept!.request, MAX_BYTES);
    expect(Buffer.from(inputs.fault!.data[0] as Uint8Array).toString()).toBe("kills_itself");
    expect(others).toEqual([]);
  },
);

test("a folder that cannot be written is said at the start, and requests are answered", async () => {
  const file = join(tempFolder(), "file");
  writeFileSync(file, "");
  const { program, ask } = await startKeeping(join(file, "fatal"));
  await program.event(
    "requests that end the process will not be kept: .*/file/fatal cannot be written: a part of its path is not a folder. Choose another --keep-fatal-requests.",
  );
  expect(await ask("half", { inputs: [2] })).toEqual({ status: 200, body: { outputs: [3] } });
  await end(program);
});

test("a request that is too large to be kept is answered, and the log says so once", async () => {
  const { log, events } = createEventLog();
  const folder = tempFolder();
  const server = await createServer({ models: { echo: { driver: "null" } }, keepFatalRequests: { folder }, log });
  const x = createTensor("uint8", [65 * 1024 * 1024], new Uint8Array(65 * 1024 * 1024));
  for (let time = 0; time < 2; time++) await server.predict("echo", { x });
  const told = events.filter(({ msg }) => String(msg).includes("would not be kept"));
  expect(told).toMatchObject([
    { level: "warn", msg: "a request would not be kept if it ended the process: it has more than 64 MB." },
  ]);
  await server.close();
  expect(readdirSync(folder)).toEqual([]);
});
