import { writeYaml } from "../codecs/config/write-yaml.ts";
import { composeFile } from "./compose-file.ts";
import type { Deployment, ExportedFiles } from "./deployment.ts";
import { dockerfile } from "./dockerfile.ts";
import { helmChart } from "./helm-chart.ts";
import { kserveFiles } from "./kserve-files.ts";
import { kubernetesManifests } from "./kubernetes-manifests.ts";
import { sagemakerFiles } from "./sagemaker-files.ts";

/** Platforms that `kserving export` writes files for. */
export const EXPORT_TARGETS = ["docker", "compose", "kubernetes", "helm", "kserve", "sagemaker"] as const;
/** One of {@link EXPORT_TARGETS}. */
export type ExportTarget = (typeof EXPORT_TARGETS)[number];

/** Facts that the files of some targets depend on. */
export interface ExportContext {
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
