import { writeYaml } from "../../tensor/codecs/config/yaml.ts";
import { graceSeconds, portsOf, USER_ID } from "./container.ts";
import { type Deployment, type ExportedFiles, PACKAGE_CONTEXT } from "./deployment.ts";
import { dockerfile } from "./dockerfile.ts";
import { kserveFiles } from "./kserve-files.ts";
import { helmChart, kubernetesManifests } from "./kubernetes-manifests.ts";
import { sagemakerFiles } from "./sagemaker-files.ts";

/** Platforms that `kserving export` writes files for. */
export const EXPORT_TARGETS = ["docker", "compose", "kubernetes", "helm", "kserve", "sagemaker"] as const;
/** One of {@link EXPORT_TARGETS}. */
export type ExportTarget = (typeof EXPORT_TARGETS)[number];

/** Facts that the files of some targets depend on. */
interface ExportContext {
  /** The paths between the folder of the command line and that of the files. */
  readonly folder: { readonly up: string; readonly down: string };
  /** Checks for a model's address of another server. */
  readonly isRemote: (path: string) => boolean;
}

/** The files that run a deployment; throws `failed_precondition` for one that the target has no place for. */
export function exportFiles(target: ExportTarget, deployment: Deployment, context: ExportContext): ExportedFiles {
  return WRITERS[target](deployment, context);
}

const IMAGE_FILE = (deployment: Deployment) => ({ Dockerfile: dockerfile(deployment) });

const WRITERS: Readonly<Record<ExportTarget, (deployment: Deployment, context: ExportContext) => ExportedFiles>> = {
  docker: IMAGE_FILE,
  compose: (deployment, { folder }) => ({
    ...IMAGE_FILE(deployment),
    "compose.yaml": composeFile(deployment, folder),
  }),
  kubernetes: (deployment) => ({
    ...IMAGE_FILE(deployment),
    "kubernetes.yaml": writeYaml(...kubernetesManifests(deployment)),
  }),
  helm: (deployment) => ({ ...IMAGE_FILE(deployment), ...helmChart(deployment) }),
  kserve: (deployment, { isRemote }) => kserveFiles(deployment, isRemote),
  sagemaker: (deployment, { isRemote }) => sagemakerFiles(deployment, isRemote),
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
