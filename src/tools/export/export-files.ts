import { posix } from "node:path";
import { failedPrecondition } from "../../errors.ts";
import { shellQuoted } from "../../platform/text/terminal.ts";
import { writeYaml } from "../../tensor/codecs/config/yaml.ts";
import {
  assertNoConfig,
  graceSeconds,
  hookTargets,
  kubernetesContainer,
  POD_USER,
  portsOf,
  pullPolicy,
  USER_ID,
  VOLUMES,
} from "./container.ts";
import { type DeployedModel, type Deployment, type ExportedFiles, PACKAGE_CONTEXT } from "./deployment.ts";
import { dockerfile, endLines, literal, programLines } from "./dockerfile.ts";
import { kserveFiles } from "./kserve-files.ts";
import { systemdFiles } from "./systemd-files.ts";

/** Platforms that `kserving export` writes files for. */
export const EXPORT_TARGETS = ["docker", "compose", "kubernetes", "helm", "kserve", "sagemaker", "systemd"] as const;
/** One of {@link EXPORT_TARGETS}. */
export type ExportTarget = (typeof EXPORT_TARGETS)[number];

/** Facts that the files of some targets depend on. */
interface ExportContext {
  /** The paths between the folder of the command line and that of the files. */
  readonly folder: { readonly up: string; readonly down: string };
  /** Checks for a model's address of another server. */
  readonly isRemote: (path: string) => boolean;
  /** Reads a file of examples/systemd. */
  readonly readExample: (name: string) => string;
}

/** The files that run a deployment; throws `failed_precondition` for one that the target has no place for. */
export function exportFiles(target: ExportTarget, deployment: Deployment, context: ExportContext): ExportedFiles {
  return WRITERS[target](deployment, context);
}

const imageFile = (deployment: Deployment) => ({ Dockerfile: dockerfile(deployment) });

const WRITERS: Readonly<Record<ExportTarget, (deployment: Deployment, context: ExportContext) => ExportedFiles>> = {
  docker: imageFile,
  compose: (deployment, { folder }) => ({
    ...imageFile(deployment),
    "compose.yaml": composeFile(deployment, folder),
  }),
  kubernetes: (deployment) => ({
    ...imageFile(deployment),
    "kubernetes.yaml": writeYaml(...kubernetesManifests(deployment)),
  }),
  helm: (deployment) => ({ ...imageFile(deployment), ...helmChart(deployment) }),
  kserve: (deployment, { isRemote }) => kserveFiles(deployment, isRemote),
  sagemaker: (deployment, { isRemote }) => sagemakerFiles(deployment, isRemote),
  systemd: (deployment, { readExample }) => systemdFiles(deployment, readExample),
};

/** The file with which Docker Compose builds and runs a deployment; `folder` has it, relative to the build's. */
function composeFile(deployment: Deployment, folder: { readonly up: string; readonly down: string }): string {
  const service = {
    build: {
      context: folder.up,
      dockerfile: `${folder.down}/Dockerfile`,
      ...(deployment.program.isOutside && { additional_contexts: { [PACKAGE_CONTEXT]: "." } }),
    },
    image: deployment.image,
    // Elsewhere there may be another of this name.
    pull_policy: "build",
    ports: portsOf(deployment).map(({ port }) => `${port}:${port}`),
    user: `${USER_ID}:0`,
    read_only: true,
    tmpfs: ["/tmp"],
    cap_drop: ["ALL"],
    security_opt: ["no-new-privileges:true"],
    stop_grace_period: `${graceSeconds(deployment)}s`,
    restart: "unless-stopped",
  };
  return writeYaml({ services: { [deployment.name]: service } });
}

const REPLICAS = 2;

/** Objects of Kubernetes that run a deployment: its pods, their addresses, and how many there are. */
function kubernetesManifests(deployment: Deployment): readonly object[] {
  const { name } = deployment;
  const labels = { "app.kubernetes.io/name": name };
  const selector = { matchLabels: labels };
  return [
    {
      ...headOf("apps/v1", "Deployment", name, labels),
      spec: {
        replicas: REPLICAS,
        selector,
        strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
        template: { metadata: { labels }, spec: podSpec(deployment, selector) },
      },
    },
    { ...headOf("v1", "Service", name, labels), spec: { selector: labels, ports: servicePorts(deployment) } },
    {
      // Its name has an address for each pod, among which clients of gRPC choose.
      ...headOf("v1", "Service", `${name}-pods`, labels),
      spec: { clusterIP: "None", selector: labels, ports: servicePorts(deployment) },
    },
    { ...headOf("policy/v1", "PodDisruptionBudget", name, labels), spec: { maxUnavailable: 1, selector } },
  ];
}

function headOf(apiVersion: string, kind: string, name: string, labels: object) {
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
    containers: [{ name, image, imagePullPolicy: pullPolicy(image), ...kubernetesContainer(deployment) }],
    volumes: VOLUMES,
  };
}

function servicePorts(deployment: Deployment) {
  return portsOf(deployment).map(({ name, port }) => ({ name, port, targetPort: name, appProtocol: name }));
}

const CHART_IMAGE = "{{ .Values.image }}";
const CHART_POLICY = "{{ .Values.imagePullPolicy }}";
const CHART_RESOURCES = "{{ toJson .Values.resources }}";
const CHART_REPLICAS = "{{ .Values.replicas }}";

/** A Helm chart of a deployment: its manifests, with the image, the number of pods and their resources as values. */
function helmChart(deployment: Deployment): ExportedFiles {
  const { name, version, image } = deployment;
  const [pods, ...others] = kubernetesManifests({ ...deployment, image: CHART_IMAGE }) as [PodsManifest, ...object[]];
  const { resources } = kubernetesContainer(deployment);
  const { replicas } = pods.spec;
  const templated = writeYaml(toTemplate(pods))
    // Helm's values are no text.
    .replace(JSON.stringify(CHART_RESOURCES), CHART_RESOURCES)
    .replace(JSON.stringify(CHART_REPLICAS), CHART_REPLICAS);
  return {
    // A release has room for a megabyte.
    ".helmignore": "*.tgz\nDockerfile\n",
    "Chart.yaml": writeYaml({ apiVersion: "v2", name, version, appVersion: version, type: "application" }),
    "values.yaml": writeYaml({ image, imagePullPolicy: pullPolicy(image), replicas, resources }),
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
  const containers = template.spec.containers.map((container) => ({
    ...container,
    imagePullPolicy: CHART_POLICY,
    resources: CHART_RESOURCES,
  }));
  return {
    ...rest,
    spec: { ...spec, replicas: CHART_REPLICAS, template: { ...template, spec: { ...template.spec, containers } } },
  };
}

/** Ports that SageMaker's containers have. */
const SAGEMAKER_PORTS = { httpPort: 8080, grpcPort: 9000 };

/** Files for SageMaker: an image without models, and a script that packs the models and hooks as it unpacks them. */
function sagemakerFiles(deployment: Deployment, isRemote: (path: string) => boolean): ExportedFiles {
  assertNoConfig(deployment, "SageMaker");
  const remote = deployment.models.find(({ path }) => isRemote(path));
  if (remote !== undefined)
    throw failedPrecondition(
      `SageMaker gets its models as an archive; expected files of this machine, not ${remote.path}.`,
    );
  const names = deployment.models.map(nameOf);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined)
    throw failedPrecondition(
      `SageMaker has a folder for each model, and "${twice}" has several models; expected names of their own, or kserving export docker for a pipeline.`,
    );
  const own = { ...deployment, ...SAGEMAKER_PORTS };
  return {
    Dockerfile: [...programLines(own), ...variableLines(own), ...endLines(own), `CMD ["serve"]`, ""].join("\n"),
    "pack-model.sh": packScript(deployment),
  };
}

/** A folder of versions stays as it is; everything else becomes version 1. */
function packScript(deployment: Deployment): string {
  // Handlers in Python are known by the name of their file.
  const hooks = hookTargets(deployment, ["inference.py"]);
  return [
    "#!/bin/sh",
    "# Writes model.tar.gz; run it where the command line was given.",
    "set -eu",
    "# The server's user is another than the one who unpacks it.",
    "umask 022",
    "folder=$(mktemp -d)",
    ...deployment.models.flatMap((model) => packLines(model, deployment.files)),
    ...hooks.flatMap(({ file, target }) => [
      `mkdir -p "$folder/code/"${shellQuoted(posix.dirname(target))}`,
      `cp ${shellQuoted(file)} "$folder/code/"${shellQuoted(target)}`,
    ]),
    `chmod -R u+rwX,go+rX,go-w "$folder"`,
    `tar -czf model.tar.gz -C "$folder" .`,
    `rm -rf "$folder"`,
    "",
  ].join("\n");
}

function nameOf({ name = "model" }: DeployedModel): string {
  return name;
}

function packLines(model: DeployedModel, files: readonly string[]): readonly string[] {
  const { path } = model;
  const target = `"$folder/"${shellQuoted(nameOf(model))}`;
  if (!path.endsWith("/"))
    return [`mkdir -p ${target}/1`, `cp -RL ${filesBeside(model, files).map(shellQuoted).join(" ")} ${target}/1/`];
  return [
    `if ls -d ${shellQuoted(path)}[0-9]*/ >/dev/null 2>&1; then mkdir -p ${target} && cp -RL ${shellQuoted(path)}. ${target}/; else mkdir -p ${target}/1 && cp -RL ${shellQuoted(path)}. ${target}/1/; fi`,
  ];
}

/** A model's file with those of the deployment whose names begin alike, such as weights, or that it has for texts. */
function filesBeside({ path, texts = [] }: DeployedModel, files: readonly string[]): readonly string[] {
  const stem = path.replace(/\.[^./]+$/, "");
  const others = files.filter((file) => file !== path && (file.startsWith(`${stem}.`) || texts.includes(file)));
  return [path, ...others.map((file) => file.replace(/\/$/, ""))];
}

function variableLines({ variables }: Deployment): readonly string[] {
  return Object.entries(variables).map(([name, value]) => `ENV ${name}="${literal(value)}"`);
}
