/**
 * Checks what deploy/ has for clusters in a real one, a Kubernetes of one node that it builds from Go modules and
 * Debian's packages (half an hour the first time) and runs in namespaces of its own: npm run check -- kubernetes --
 * [PART]... It ends after 20 minutes at the latest, takes everything with it however it ends, and exits with 1 where
 * something was not as it should be. Needs root, Go 1.26, apt, control groups of version 1, and the image of npm run
 * build:image. Logs of Kubernetes' parts are in .cache/kubernetes/cluster/logs.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { reasonText } from "../src/errors.ts";
import { buildKserve } from "./cluster/build-kserve.ts";
import { buildPrograms } from "./cluster/build-programs.ts";
import { checkAutoscaling } from "./cluster/check-autoscaling.ts";
import type { CheckContext } from "./cluster/check-context.ts";
import { checkFormats } from "./cluster/check-formats.ts";
import { checkKserve } from "./cluster/check-kserve.ts";
import { checkLimits } from "./cluster/check-limits.ts";
import { checkRollouts } from "./cluster/check-rollouts.ts";
import { Cluster } from "./cluster/cluster.ts";
import { deployTool } from "./cluster/deploy-tool.ts";
import { type ChartValues, NAMESPACE, Release } from "./cluster/release.ts";
import { Report } from "./cluster/report.ts";
import { HALF_FILE, writeModels } from "./cluster/subjects.ts";
import { IMAGES, writeImages } from "./cluster/write-images.ts";

const MINUTES = 20;
const CACHE = join(process.cwd(), ".cache");
const cache = join(CACHE, "kubernetes");
const PARTS: Readonly<Record<string, (context: CheckContext, values: ChartValues) => Promise<void>>> = {
  chart: checkChart,
  limits: checkLimits,
  autoscaling: checkAutoscaling,
  kserve: (context) => checkKserve(context, buildKserve(cache)),
};
const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => PARTS[name] === undefined);
if (unknown.length > 0) throw new Error(`No part ${unknown.join(", ")}; there are ${Object.keys(PARTS).join(", ")}`);
const parts = chosen.length === 0 ? Object.keys(PARTS) : chosen;

const programs = buildPrograms(cache);
if (parts.includes("kserve")) buildKserve(cache);
const helm = deployTool("helm", join(CACHE, "deploy"));
const images = await writeImages({ cache, built: join(CACHE, "image"), model: HALF_FILE });
const report = new Report();
const started = performance.now();
const cluster = await Cluster.start(join(cache, "cluster"), programs);
let isOver = false;
setTimeout(() => end(`not over after ${MINUTES} minutes`), MINUTES * 60_000);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => end(signal));
await checkParts().then(
  () => end(),
  (reason) => end(reasonText(reason)),
);

async function checkParts(): Promise<void> {
  for (const image of [images.pause, images.kserving]) await cluster.importImage(image);
  await cluster.apply(JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } }));
  const models = join(cluster.place.folder, "models");
  mkdirSync(models);
  const context = { cluster, report, helm, images, cache, models, subjects: writeModels(models) };
  const [repository, tag] = IMAGES.kserving.split(":");
  const values = {
    image: { repository, tag },
    models: { volume: { hostPath: { path: models } } },
    resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { memory: "512Mi" } },
  };
  for (const name of parts) {
    console.log(`${name} (after ${((performance.now() - started) / 1000).toFixed(0)} s)`);
    await PARTS[name]?.(context, values).catch((reason: unknown) => report.fail(`${name}: ${reasonText(reason)}`));
  }
}

/** Formats and rollouts share a release. */
async function checkChart(context: CheckContext, values: ChartValues): Promise<void> {
  const release = new Release("faces", context);
  await release.apply(values);
  await checkFormats(context, release);
  await checkRollouts(context, release, values);
  await release.uninstall();
}

/** Ends this process with everything that it started. */
async function end(failure?: string): Promise<void> {
  if (isOver) return;
  isOver = true;
  if (failure !== undefined) report.fail(failure);
  await cluster.stop();
  process.exit(report.print() ? 0 : 1);
}
