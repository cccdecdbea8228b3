import type { CheckContext } from "./check-context.ts";
import { startLoad } from "./load/load.ts";
import type { Target, Wire } from "./load/senders.ts";
import { NAMESPACE } from "./release.ts";
import { HALF, type Subject } from "./subjects.ts";
import { waitUntil } from "./wait-until.ts";

/** Parts of a predictor's `model` beside its format. */
export type ModelSpec = Readonly<Record<string, unknown>>;

/** Address of a model on the volume. */
export const STORED = "pvc://models/half";
export const SMALL = { requests: { cpu: "100m", memory: "128Mi" }, limits: { cpu: "1", memory: "512Mi" } };
/** Hooks of a ConfigMap, which double what the model answers. */
export const HOOKS = {
  args: ["--hooks=/etc/kserving/hooks/twice.js"],
  volumeMounts: [{ name: "hooks", mountPath: "/etc/kserving/hooks" }],
};
/** Label of an InferenceService's pods. */
export const SELECTOR = "--selector=serving.kserve.io/inferenceservice";
const TWICE: Subject = { ...HALF, expected: HALF.expected.map((value) => value * 2) };

/** Applies an InferenceService of one pod, unless its predictor says otherwise. */
export async function createService(
  { cluster }: CheckContext,
  name: string,
  predictor: { readonly model: ModelSpec; readonly [part: string]: unknown },
): Promise<void> {
  const usual = { minReplicas: 1, maxReplicas: 1, volumes: [{ name: "hooks", configMap: { name: "hooks" } }] };
  const model = { modelFormat: { name: "onnx" }, ...predictor.model };
  const service = {
    ...{ apiVersion: "serving.kserve.io/v1beta1", kind: "InferenceService" },
    metadata: { name, namespace: NAMESPACE },
    spec: { predictor: { ...usual, ...predictor, model } },
  };
  await cluster.apply(JSON.stringify(service));
}

/** Waits until an InferenceService, or another of KServe's objects, is ready. */
export async function waitUntilReady(context: CheckContext, name: string, kind = "inferenceservice"): Promise<void> {
  await kubectl(context, "wait", "--for=condition=Ready", `${kind}/${name}`, "--timeout=55s");
}

/** Starts clients of an InferenceService; the one called `hooked` has {@link HOOKS}. */
export async function startClients(context: CheckContext, name: string, wires: readonly Wire[], clients: number) {
  const subject = { ...(name === "hooked" ? TWICE : HALF), model: name };
  const target = await targetOf(context, name);
  return startLoad(context.cluster.namespaces, { target, subject, wires, clients, pauseMs: clients > 1 ? 0 : 10 });
}

/** Address and ports of an InferenceService in the cluster's network. */
export async function targetOf(context: CheckContext, name: string): Promise<Target> {
  return { host: await addressOf(context, `${name}-predictor`), httpPort: 80, grpcPort: 8081 };
}

/** Address of a Service. */
export function addressOf(context: CheckContext, service: string): Promise<string> {
  return kubectl(context, "get", "service", service, "-o=jsonpath={.spec.clusterIP}");
}

/** Deletes an InferenceService, and waits until its pods are gone. */
export async function removeService(context: CheckContext, name: string): Promise<void> {
  await kubectl(context, "delete", "inferenceservice", name, "--wait=false");
  await waitUntil(
    `the pods of ${name} are gone`,
    async () => (await kubectl(context, "get", "pods", `${SELECTOR}=${name}`, "-o=name")) === "",
  );
}

/** Runs kubectl in the namespace of the models. */
export function kubectl({ cluster }: CheckContext, ...args: readonly string[]): Promise<string> {
  return cluster.kubectl(`--namespace=${NAMESPACE}`, ...args);
}
