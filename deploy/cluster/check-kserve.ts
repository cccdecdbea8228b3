import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { KservePrograms } from "./build-kserve.ts";
import { AFTER_MS, noteGrowth } from "./check-autoscaling.ts";
import type { CheckContext } from "./check-context.ts";
import { checkKserveSidecars } from "./check-kserve-sidecars.ts";
import {
  createService,
  HOOKS,
  kubectl,
  type ModelSpec,
  removeService,
  SELECTOR,
  SMALL,
  STORED,
  startClients,
  targetOf,
  waitUntilReady,
} from "./inference-services.ts";
import { installKserve } from "./install-kserve.ts";
import { installMetrics } from "./install-metrics.ts";
import { startLoad } from "./load/load.ts";
import type { Wire } from "./load/senders.ts";
import { growthOf } from "./load/throughput.ts";
import { waitUntil } from "./wait-until.ts";
import { IMAGES } from "./write-images.ts";

/** InferenceServices that have to answer, by their names; KServe chooses the runtime by the format. */
const SERVICES: Readonly<Record<string, ModelSpec>> = {
  v2: { protocolVersion: "v2", storageUri: STORED },
  v1: { protocolVersion: "v1", storageUri: STORED },
  grpc: { protocolVersion: "grpc-v2", storageUri: STORED },
  small: { protocolVersion: "v2", storageUri: STORED, runtime: "kserving-base" },
  hooked: { protocolVersion: "v2", storageUri: STORED, ...HOOKS },
  modelcar: { protocolVersion: "v2", storageUri: `oci://${IMAGES.model}` },
};
const WIRES: readonly Wire[] = ["V2 REST", "V2 gRPC", "TensorFlow REST"];

/** Has KServe's controller serve InferenceServices by the runtimes of deploy/, and asks each on every wire. */
export async function checkKserve(context: CheckContext, programs: KservePrograms): Promise<void> {
  const { cluster, models, images } = context;
  await cluster.importImage(images.model);
  // The small image has all that these formats need.
  await cluster.tagImage(IMAGES.kserving, "kserving:full");
  await installMetrics(cluster);
  await installKserve(cluster, programs);
  const manifests = readFileSync(join(import.meta.dirname, "manifests/models.yaml"), "utf8");
  await cluster.apply(manifests.replace("MODELS", models));
  await cluster.apply(readFileSync("deploy/kserve/runtimes.yaml", "utf8"));
  for (const [name, spec] of Object.entries(SERVICES)) await checkService(context, name, spec);
  await checkSharedVolume(context);
  await checkFailedStart(context);
  await checkKserveSidecars(context, programs.images);
  await checkScaling(context);
}

async function checkService(context: CheckContext, name: string, spec: ModelSpec): Promise<void> {
  const { report } = context;
  await createService(context, name, { model: { ...spec, resources: SMALL } });
  await waitUntilReady(context, name);
  const load = await startClients(context, name, WIRES, 1);
  await sleep(4000);
  report.add(`InferenceService ${name}`, await load.stop());
  await removeService(context, name);
}

/** Each folder of a volume is a model of one server. */
async function checkSharedVolume(context: CheckContext): Promise<void> {
  await createService(context, "shared", { model: { storageUri: "pvc://models", resources: SMALL } });
  await waitUntilReady(context, "shared");
  const target = await targetOf(context, "shared");
  for (const subject of context.subjects) {
    const options = { target, subject, wires: WIRES, clients: 1, pauseMs: 10 };
    const load = await startLoad(context.cluster.namespaces, options);
    await sleep(4000);
    context.report.add(`InferenceService shared: ${subject.model}`, await load.stop());
  }
  await removeService(context, "shared");
}

/** The reason of a failed start is the container's message. KServe's status has it only if KServe looks meanwhile. */
async function checkFailedStart(context: CheckContext): Promise<void> {
  mkdirSync(join(context.models, "empty"), { recursive: true });
  await createService(context, "empty", { model: { storageUri: "pvc://models/empty", resources: SMALL } });
  const path = "-o=jsonpath={.items[0].status.containerStatuses[0].lastState.terminated.message}";
  let message = "";
  await waitUntil("the container's message says why the start failed", async () => {
    message = await kubectl(context, "get", "pods", `${SELECTOR}=empty`, path);
    return message.includes("/mnt/models");
  });
  context.report.figure(`an InferenceService without a model says: ${message.trim().slice(0, 200)}`);
  await removeService(context, "empty");
}

/** KServe's own autoscaler, by processor time, with pods that have a fifth of a processor. */
async function checkScaling(context: CheckContext): Promise<void> {
  const fifth = { cpu: "200m", memory: "256Mi" };
  const model = { storageUri: STORED, ...HOOKS, resources: { requests: fifth, limits: fifth } };
  const scaling = { minReplicas: 1, maxReplicas: 3, scaleMetric: "cpu", scaleTarget: 60 };
  await createService(context, "hooked", { ...scaling, model });
  await waitUntilReady(context, "hooked");
  const load = await startClients(context, "hooked", ["V2 REST, new connections"], 12);
  const ready = () => kubectl(context, "get", "deployment", "hooked-predictor", "-o=jsonpath={.status.readyReplicas}");
  const grown = waitUntil("KServe's autoscaler has made three pods", async () => (await ready()) === "3", 120);
  await grown.finally(() => sleep(AFTER_MS));
  const result = await load.stop();
  context.report.add("InferenceService scaled 1 → 3 by CPU", result);
  noteGrowth(context, "CPU, through KServe", growthOf(result));
  await removeService(context, "hooked");
}
