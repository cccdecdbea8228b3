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
