import { graceSeconds, kubernetesContainer, POD_USER, portsOf, VOLUMES } from "./container.ts";
import type { Deployment } from "./deployment.ts";

const REPLICAS = 2;

/** Objects of Kubernetes that run a deployment: its pods, their addresses, and how many there are. */
export function kubernetesManifests(deployment: Deployment): readonly object[] {
  const { name } = deployment;
  const labels = { "app.kubernetes.io/name": name };
  const selector = { matchLabels: labels };
  return [
    {
      ...head("apps/v1", "Deployment", name, labels),
      spec: {
        replicas: REPLICAS,
        selector,
        strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
        template: { metadata: { labels }, spec: podSpec(deployment, selector) },
      },
    },
    { ...head("v1", "Service", name, labels), spec: { selector: labels, ports: servicePorts(deployment) } },
    {
      // Its name has an address for each pod, among which clients of gRPC choose.
      ...head("v1", "Service", `${name}-pods`, labels),
      spec: { clusterIP: "None", selector: labels, ports: servicePorts(deployment) },
    },
    { ...head("policy/v1", "PodDisruptionBudget", name, labels), spec: { maxUnavailable: 1, selector } },
  ];
}

function head(apiVersion: string, kind: string, name: string, labels: object) {
  return { apiVersion, kind, metadata: { name, labels } };
}

function podSpec(deployment: Deployment, labelSelector: object) {
  const { name, image } = deployment;
  const spread = { maxSkew: 1, topologyKey: "topology.kubernetes.io/zone", whenUnsatisfiable: "ScheduleAnyway" };
  return {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: graceSeconds(deployment),
    securityContext: POD_USER,
    topologySpreadConstraints: [{ ...spread, labelSelector }],
    containers: [{ name, image, ...kubernetesContainer(deployment) }],
    volumes: VOLUMES,
  };
}

function servicePorts(deployment: Deployment) {
  return portsOf(deployment).map(({ name, port }) => ({ name, port, targetPort: name, appProtocol: name }));
}
