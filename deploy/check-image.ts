/**
 * Runs containers of the images that npm run build:image has built, as a cluster does (runc; a user without an account,
 * a read-only root, no capabilities, limited memory): npm run check -- image [TARGET]... Exits with 1 where one of the
 * programs, the health check, a prediction or the stop is not as it should be. The
 * times until a server is ready are the shortest of five in turns, inside and outside
 * of a container; they say something on a machine that does nothing else.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { BuiltImage } from "./image/build-target.ts";
import { type RunningContainer, runContainer } from "./image/run-container.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const models = join(root, "test/fixtures/models");
const PLACE = { uid: 1_234_567, memoryBytes: 512 * 1024 * 1024, folders: { "/models": models } };
const PORT = 19_000;
const HTTP = `http://127.0.0.1:${PORT}`;
const FLAGS = ["--name=half", "--http-enable", `--port=${PORT}`, `--http-port=${PORT}`, "--shutdown-delay=0"];
const ROUNDS = 5;
const SAVED_MODEL = join(root, "test/fixtures/tensorflow/half_plus_two");
/** Folder of the npm packages, and of links to their programs. */
const HOME = "opt/kserving";
const OF_PYTHON = ["pytorch", "sklearn", "xgboost", "lightgbm"];
/** Runtimes that each target has besides ONNX Runtime. */
const RUNTIMES: Readonly<Record<string, readonly string[]>> = {
  openvino: ["openvino"],
  tensorflow: ["tensorflow"],
  python: OF_PYTHON,
  full: ["openvino", "tensorflow", ...OF_PYTHON],
};

const targets = process.argv.slice(2);
for (const target of targets.length === 0 ? ["base"] : targets) {
  const image: BuiltImage = JSON.parse(readFileSync(join(root, `.cache/image/${target}.json`), "utf8"));
  await checkPrograms(image);
  checkPackages(image);
  const { output: runtimes } = await runContainer(image, { ...PLACE, args: ["runtimes", "list"] }).ended();
  for (const name of ["onnx", ...(RUNTIMES[target] ?? [])]) assert.match(runtimes, new RegExp(`^\\* +${name} `, "m"));
  await serveForSagemaker(image);
  const served: Served[] = [];
  const seconds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    served.push(await serve(image));
    seconds.push(await serveOutside(image));
  }
  const inside = Math.min(...served.map((run) => run.seconds));
  const outside = Math.min(...seconds);
  const times = `ready after ${inside.toFixed(2)} s, outside of a container after ${outside.toFixed(2)} s`;
  console.log(`${target}: ${times}; ${served[0]?.megabytes} MB while idle`);
}

/** Each program of the package is a command of the image, and arguments alone are those of kserving. */
async function checkPrograms(image: BuiltImage): Promise<void> {
  const names = readdirSync(join(image.root, HOME, "bin"));
  assert.deepEqual(names.sort(), Object.keys(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).bin).sort());
  for (const args of [["--version"], ...names.map((name) => [name, "--help"])]) {
    const { code, output } = await runContainer(image, { ...PLACE, args }).ended();
    const expected = args[0] === "--version" ? /^\d+\.\d+/ : /usage|OpenVINO Model Server/i;
    assert.ok(code === 0 && expected.test(output), `${args.join(" ")} exited with ${code}: ${output}`);
  }
}

/** Packages are those for this machine, and listed. */
function checkPackages({ root: files }: BuiltImage): void {
  const home = join(files, HOME);
  const names = (folder: string) =>
    readdirSync(join(home, "node_modules", folder), { recursive: true, encoding: "utf8" });
  const libraries = [...names("onnxruntime-node/bin"), ...names("@img")].filter((name) =>
    /\.(?:node|dll|dylib)$|\.so/.test(name),
  );
  const own = new RegExp(`(?:^|/)(?:\\w+-)*${process.platform}[-/]${process.arch}/`);
  assert.deepEqual(
    libraries.filter((name) => !own.test(name)),
    [],
  );
  assert.ok(libraries.length >= 4, `too few libraries: ${libraries}`);
  const { components } = JSON.parse(readFileSync(join(home, "sbom.cdx.json"), "utf8"));
  const listed = new Set(components.map(({ name }: { name: string }) => name));
  for (const name of ["kserving", "onnxruntime-node", "sharp"])
    assert.ok(listed.has(name), `the list is without ${name}`);
}

/** Starts `serve` as SageMaker does. */
async function serveForSagemaker(image: BuiltImage): Promise<void> {
  const env = { SAGEMAKER_BIND_TO_PORT: String(PORT), KSERVING_PORT: String(PORT), KSERVING_SHUTDOWN_DELAY: "0" };
  const folders = { "/opt/ml/model": SAVED_MODEL };
  await withContainer(runContainer(image, { ...PLACE, args: ["serve"], env, folders }), async () => {
    await untilReady(performance.now(), "ping");
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${HTTP}/invocations`, { method: "POST", headers, body: '{"instances": [1, 2]}' });
    assert.deepEqual(await answer.json(), { predictions: [2.5, 3] });
  });
}

/** Stops a container after its use; a container that does not stop with 0 is an error. */
async function withContainer<T>(container: RunningContainer, use: () => Promise<T>): Promise<T> {
  try {
    const result = await use();
    const { code, output } = await container.stop("TERM");
    assert.equal(code, 0, output);
    return result;
  } catch (reason) {
    await container.stop("KILL");
    throw reason;
  }
}

/** Memory of process 1 and of what it supervises, in which pages of several processes count by their shares. */
function idleMegabytes(container: RunningContainer): number {
  const children = container.exec(["cat", "/proc/1/task/1/children"]).output.split(" ").filter(Boolean);
  const kilobytes = ["1", ...children].map((pid) => {
    const { output } = container.exec(["cat", `/proc/${pid}/smaps_rollup`]);
    const [, own] = /^Pss:\s+(\d+) kB/m.exec(output) ?? [];
    assert.ok(own !== undefined, output);
    return Number(own);
  });
  return Math.round(kilobytes.reduce((sum, own) => sum + own, 0) / 1000);
}

/** Seconds until a server was ready, and its memory then. */
interface Served {
  readonly seconds: number;
  readonly megabytes: number;
}

/** Runs a server with a model through its life. */
async function serve(image: BuiltImage): Promise<Served> {
  const started = performance.now();
  const container = runContainer(image, { ...PLACE, args: ["/models/half-plus-two.onnx", ...FLAGS] });
  return withContainer(container, async () => {
    const seconds = await untilReady(started);
    const health = container.exec([...image.config.healthcheck, `127.0.0.1:${PORT}`]);
    assert.equal(health.code, 0, health.output);
    const body = JSON.stringify({ inputs: [{ name: "x", shape: [2], datatype: "FP32", data: [1, 2] }] });
    const answer = await fetch(`${HTTP}/v2/models/half/infer`, { method: "POST", body });
    assert.deepEqual(((await answer.json()) as { outputs: { data: number[] }[] }).outputs[0]?.data, [2.5, 3]);
    return { seconds, megabytes: idleMegabytes(container) };
  });
}

/** Starts the image's own files as a program of this machine; returns the seconds until it was ready. */
async function serveOutside(image: BuiltImage): Promise<number> {
  const started = performance.now();
  const program = join(image.root, "opt/kserving/node_modules/kserving/bin/kserving.cjs");
  const args = [program, join(models, "half-plus-two.onnx"), ...FLAGS];
  const child = spawn(join(image.root, "usr/local/bin/node"), args, { stdio: "ignore" });
  const seconds = await untilReady(started);
  child.kill("SIGINT");
  await once(child, "exit");
  return seconds;
}

async function untilReady(started: number, path = "v2/health/ready"): Promise<number> {
  const seconds = () => (performance.now() - started) / 1000;
  const isReady = () =>
    fetch(`${HTTP}/${path}`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) {
    assert.ok(seconds() < 60, "not ready after a minute");
    await sleep(20);
  }
  return seconds();
}
