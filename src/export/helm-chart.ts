import { writeYaml } from "../codecs/config/write-yaml.ts";
import { kubernetesContainer } from "./container.ts";
import type { Deployment, ExportedFiles } from "./deployment.ts";
import { kubernetesManifests } from "./kubernetes-manifests.ts";

const IMAGE = "{{ .Values.image }}";
const RESOURCES = "{{ toJson .Values.resources }}";
const REPLICAS = "{{ .Values.replicas }}";

/** A Helm chart of a deployment: its manifests, with the image, the number of pods and their resources as values. */
export function helmChart(deployment: Deployment): ExportedFiles {
  const { name, version, image } = deployment;
  const [pods, ...others] = kubernetesManifests({ ...deployment, image: IMAGE }) as [PodsManifest, ...object[]];
  const { resources } = kubernetesContainer(deployment);
  const { replicas } = pods.spec;
  const templated = writeYaml(toTemplate(pods))
    // Helm's values are no text.
    .replace(JSON.stringify(RESOURCES), RESOURCES)
    .replace(JSON.stringify(REPLICAS), REPLICAS);
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
    spec: { ...spec, replicas: REPLICAS, template: { ...template, spec: { ...template.spec, containers } } },
  };
}
