/**
 * Runs containers of the images that npm run build:image has built, as a cluster does (runc; a user without an account,
 * a read-only root, no capabilities, limited memory): npm run check:image -- [TARGET]... Exits with 1 where one of the
 * programs, the health check, a prediction or the stop is not as it should be.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { BuiltImage } from "./image/build-target.ts";
import { runContainer } from "./image/run-container.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const models = join(root, "test/fixtures/models");
const PLACE = { uid: 1_234_567, memoryBytes: 512 * 1024 * 1024, folders: { "/models": models } };
const PORT = 19_000;
const HTTP = `http://127.0.0.1:${PORT}`;
const FLAGS = ["--name=half", "--http-enable", `--port=${PORT}`, `--http-port=${PORT}`, "--shutdown-delay=0"];
/** Programs of the image, with the words that each begins its version or help with. */
const PROGRAMS = [
  [["--version"], /^\d+\.\d+/],
  [["kserving", "--version"], /^\d+\.\d+/],
  [["tensorflow_model_server", "--version"], /ModelServer|\d+\.\d+/],
  [["ovms", "--version"], /\d+\.\d+/],
  [["simple_tensorflow_serving", "--help"], /usage|Usage/],
  [["runtimes", "list"], /onnx/],
] as const;

const targets = process.argv.slice(2);
for (const target of targets.length === 0 ? ["base"] : targets) {
  const image: BuiltImage = JSON.parse(readFileSync(join(root, `.cache/image/${target}.json`), "utf8"));
  for (const [args, expected] of PROGRAMS) {
    const { code, output } = await runContainer(image, { ...PLACE, args }).ended();
    assert.ok(code === 0 && expected.test(output), `${args.join(" ")} exited with ${code}: ${output}`);
  }
  const inside = await serve(image);
  const outside = await serveOutside(image);
  console.log(`${target}: ready after ${inside.toFixed(2)} s, outside of a container after ${outside.toFixed(2)} s`);
}

/** Runs a server with a model through its life; returns the seconds until it was ready. */
async function serve(image: BuiltImage): Promise<number> {
  const started = performance.now();
  const container = runContainer(image, { ...PLACE, args: ["/models/half-plus-two.onnx", ...FLAGS] });
  const seconds = await untilReady(started);
  const health = container.exec([...image.config.healthcheck, `127.0.0.1:${PORT}`]);
  assert.equal(health.code, 0, health.output);
  const body = JSON.stringify({ inputs: [{ name: "x", shape: [2], datatype: "FP32", data: [1, 2] }] });
  const answer = await fetch(`${HTTP}/v2/models/half/infer`, { method: "POST", body });
  assert.deepEqual(((await answer.json()) as { outputs: { data: number[] }[] }).outputs[0]?.data, [2.5, 3]);
  const { code, output } = await container.stop("TERM");
  assert.equal(code, 0, output);
  return seconds;
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

async function untilReady(started: number): Promise<number> {
  const seconds = () => (performance.now() - started) / 1000;
  const isReady = () =>
    fetch(`${HTTP}/v2/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) {
    assert.ok(seconds() < 60, "not ready after a minute");
    await sleep(20);
  }
  return seconds();
}
