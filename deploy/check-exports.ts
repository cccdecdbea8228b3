/**
 * Builds the images that kserving export describes, by their Dockerfiles' own steps without an engine, from a folder
 * that has nothing but a model, and runs them as Docker, KServe and SageMaker do, with a user without an account and a
 * read-only root: npm run check -- exports. Needs root, debootstrap and runc.
 */
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { runCommand } from "../test/helpers/run-command.ts";
import { type BuiltImage, buildTarget } from "./image/build-target.ts";
import { type ContainerOptions, runContainer } from "./image/run-container.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const work = join(root, ".cache/image");
const folder = join(root, ".cache/exports");
const MODEL = "models/half-plus-two.onnx";
const PORT = 19_100;
const FLAGS = ["--name=half", `--port=${PORT}`, `--http-port=${PORT}`, "--shutdown-delay=0"];
const PLACE = { uid: 1_234_567, memoryBytes: 512 * 1024 * 1024 };

interface Platform {
  /** Prepares what the platform mounts. */
  readonly prepare?: () => void;
  readonly run: (image: BuiltImage) => ContainerOptions;
  /** The path that its clients ask. */
  readonly path: string;
}

const OWN = "v1/models/half:predict";

const PLATFORMS: Readonly<Record<string, Platform>> = {
  docker: {
    run: ({ config }) => ({ ...PLACE, args: config.command }),
    path: OWN,
  },
  kserve: {
    run: () => ({
      ...PLACE,
      args: ["kserve", "--model_name=half", "--model_dir=/mnt/models", `--http_port=${PORT}`, "--grpc_port=19101"],
      env: { KSERVING_SHUTDOWN_DELAY: "0" },
      folders: { "/mnt/models": join(folder, "models") },
    }),
    path: OWN,
  },
  sagemaker: {
    prepare: () => {
      runCommand("sh", ["sagemaker/pack-model.sh"], { cwd: folder });
      mkdirSync(join(folder, "unpacked"));
      runCommand("tar", ["-xzf", "model.tar.gz", "-C", "unpacked"], { cwd: folder });
    },
    run: ({ config }) => ({
      ...PLACE,
      args: config.command,
      env: { SAGEMAKER_BIND_TO_PORT: String(PORT), KSERVING_PORT: String(PORT), KSERVING_SHUTDOWN_DELAY: "0" },
      folders: { "/opt/ml/model": join(folder, "unpacked") },
    }),
    path: "invocations",
  },
};

rmSync(folder, { recursive: true, force: true });
mkdirSync(join(folder, "models"), { recursive: true });
copyFileSync(join(root, "test/fixtures", MODEL), join(folder, MODEL));
for (const [target, platform] of Object.entries(PLATFORMS)) {
  runCommand("node", [join(root, "bin/kserving.cjs"), "export", target, "--", MODEL, ...FLAGS], { cwd: folder });
  const place = { dockerfile: join(folder, target, "Dockerfile"), context: folder, work };
  const image = buildTarget("server", place);
  platform.prepare?.();
  await ask(image, platform);
  console.log(`${target}: the image is built, answers and stops`);
}

async function ask(image: BuiltImage, { run, path }: Platform): Promise<void> {
  const container = runContainer(image, run(image));
  try {
    await untilReady();
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ instances: [4] });
    const answer = await fetch(`http://127.0.0.1:${PORT}/${path}`, { method: "POST", headers, body });
    assert.deepEqual(await answer.json(), { predictions: [4] });
    const { code, output } = await container.stop("TERM");
    assert.equal(code, 0, output);
  } catch (reason) {
    console.error((await container.stop("KILL")).output);
    throw reason;
  }
}

async function untilReady(): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt++) {
    const ready = await fetch(`http://127.0.0.1:${PORT}/v2/health/ready`).catch(() => undefined);
    if (ready?.ok) return;
    await sleep(100);
  }
  throw new Error("not ready after a minute");
}
