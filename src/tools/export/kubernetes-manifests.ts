import { writeYaml } from "../../tensor/codecs/config/yaml.ts";
import { graceSeconds, kubernetesContainer, POD_USER, portsOf, VOLUMES } from "./container.ts";
import type { Deployment, ExportedFiles } from "./deployment.ts";

const IMAGE = "{{ .Values.image }}";
const RESOURCES = "{{ toJson .Values.resources }}";
const CHART_REPLICAS = "{{ .Values.replicas }}";

/** A Helm chart of a deployment: its manifests, with the image, the number of pods and their resources as values. */
export function helmChart(deployment: Deployment): ExportedFiles {
  const { name, version, image } = deployment;
  const [pods, ...others] = kubernetesManifests({ ...deployment, image: IMAGE }) as [PodsManifest, ...object[]];
  const { resources } = kubernetesContainer(deployment);
  const { replicas } = pods.spec;
  const templated = writeYaml(toTemplate(pods))
    // Helm's values are no text.
    .replace(JSON.stringify(RESOURCES), RESOURCES)
    .replace(JSON.stringify(CHART_REPLICAS), CHART_REPLICAS);
  return {
    // A release has room for a megabyte.
    ".helmignore": "*.tgz\nDockerfile\n",
    "Chart.yaml": writeYaml({ apiVersion: "v2", name, version, appVersion: version, type: "application" }),
    "values.yaml": writeYaml({ image, replicas, resources }),
    "templates/deployment.yaml": templated,
    "templates/others.yaml": writeYaml(...others),
  };
}

interface PodsManifest {
  readonly spec: {
    readonly replicas: number;
    readonly template: { readonly spec: { readonly containers: readonly object[] } };
  };
}

function toTemplate({ spec, ...rest }: PodsManifest): object {
  const { template } = spec;
  const containers = template.spec.containers.map((container) => ({ ...container, resources: RESOURCES }));
  return {
    ...rest,
    spec: { ...spec, replicas: CHART_REPLICAS, template: { ...template, spec: { ...template.spec, containers } } },
  };
}

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
