import { posix } from "node:path";
import { failedPrecondition } from "../../errors.ts";
import type { Deployment } from "./deployment.ts";

/** User and group that the container runs under: no account, and the group that OpenShift gives every container. */
export const USER_ID = 1000;
const GROUP_ID = 0;
const GRACE_SECONDS = 5;

/** The container of a deployment as Kubernetes describes it, but for its image and its arguments. */
export function kubernetesContainer(deployment: Deployment) {
  return {
    ports: portsOf(deployment).map(({ name, port }) => ({ name, containerPort: port, protocol: "TCP" })),
    startupProbe: { ...probe(deployment, "ready"), periodSeconds: 1, failureThreshold: 600 },
    readinessProbe: { ...probe(deployment, "ready"), periodSeconds: 2 },
    livenessProbe: { ...probe(deployment, "live"), periodSeconds: 10, timeoutSeconds: 5 },
    // The line that says why a start failed.
    terminationMessagePolicy: "FallbackToLogsOnError",
    resources: { requests: { cpu: "1", memory: "1Gi" }, limits: { memory: "1Gi" } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      capabilities: { drop: ["ALL"] },
      seccompProfile: { type: "RuntimeDefault" },
    },
    volumeMounts: [{ name: "tmp", mountPath: "/tmp" }],
  };
}

/** True if an image's name has the registry that gets it; any other image only its builder has. */
export function isPushed(image: string): boolean {
  return image.includes("/");
}

/** The rule by which Kubernetes pulls an image: never one of somewhere else that happens to have the same name. */
export function pullPolicy(image: string): "Always" | "IfNotPresent" | "Never" {
  if (!isPushed(image)) return "Never";
  return /:latest$|\/[^:@]*$/.test(image) ? "Always" : "IfNotPresent";
}

/** Volumes of {@link kubernetesContainer}. */
export const VOLUMES = [{ name: "tmp", emptyDir: {} }];

/** User and group of the pod. */
export const POD_USER = { runAsUser: USER_ID, runAsGroup: GROUP_ID, fsGroup: GROUP_ID };

/** Ports by the names that probes, services and meshes know them by. */
export function portsOf({ grpcPort, httpPort }: Deployment): readonly { name: "grpc" | "http"; port: number }[] {
  const grpc = { name: "grpc", port: grpcPort } as const;
  return httpPort === undefined || httpPort === grpcPort ? [grpc] : [{ name: "http", port: httpPort }, grpc];
}

/** Seconds that a platform waits after SIGTERM before it kills the container. */
export function graceSeconds({ stopSeconds }: Deployment): number {
  return Math.ceil(stopSeconds) + GRACE_SECONDS;
}

/** gRPC's health is the same for both. */
function probe({ httpPort, grpcPort }: Deployment, question: "ready" | "live") {
  if (httpPort === undefined) return { grpc: { port: grpcPort } };
  return { httpGet: { path: `/v2/health/${question}`, port: httpPort } };
}

/** A file of hooks, and its path in the folder that another server looks into. */
interface HookTarget {
  readonly file: string;
  readonly target: string;
}

/**
 * The hook file as `hooks.ts`, whatever its name but for those to `keep`, and its imports in the places that it
 * expects. Throws `failed_precondition` for an import from a folder around it.
 */
export function hookTargets({ hooks }: Deployment, keep: readonly string[] = []): readonly HookTarget[] {
  if (hooks === undefined) return [];
  const [main, ...imports] = hooks;
  const folder = posix.dirname(main);
  const beside = imports.map((file) => ({ file, target: posix.relative(folder, file) }));
  const outside = beside.find(({ target }) => target.startsWith(".."));
  if (outside !== undefined)
    throw failedPrecondition(`${main} imports ${outside.file}; expected files below its own folder alone.`);
  const name = posix.basename(main);
  return [{ file: main, target: keep.includes(name) ? name : `hooks${posix.extname(main)}` }, ...beside];
}

/**
 * Throws `failed_precondition` if a configuration file describes the models, for a
 * target that has its own description.
 */
export function assertNoConfig({ hasConfig }: Deployment, target: string): void {
  if (!hasConfig) return;
  throw failedPrecondition(
    `${target} says itself which models are served; expected flags in place of --config. Files for a configuration: kserving export kubernetes.`,
  );
}
