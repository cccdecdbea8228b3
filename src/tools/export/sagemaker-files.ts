import { posix } from "node:path";
import { failedPrecondition } from "../../errors.ts";
import { shellQuoted } from "../../platform/text/terminal.ts";
import { assertNoConfig, hookTargets } from "./container.ts";
import type { DeployedModel, Deployment, ExportedFiles } from "./deployment.ts";
import { endLines, literal, programLines } from "./dockerfile.ts";

/** Ports that SageMaker's containers have. */
const PORTS = { httpPort: 8080, grpcPort: 9000 };

/** Files for SageMaker: an image without models, and a script that packs the models and hooks as it unpacks them. */
export function sagemakerFiles(deployment: Deployment, isRemote: (path: string) => boolean): ExportedFiles {
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
  const own = { ...deployment, ...PORTS };
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
    "folder=$(mktemp -d)",
    ...deployment.models.flatMap((model) => packLines(model, deployment.files)),
    ...hooks.flatMap(({ file, target }) => [
      `mkdir -p "$folder/code/"${shellQuoted(posix.dirname(target))}`,
      `cp ${shellQuoted(file)} "$folder/code/"${shellQuoted(target)}`,
    ]),
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
    return [`mkdir -p ${target}/1`, `cp -R ${filesBeside(path, files).map(shellQuoted).join(" ")} ${target}/1/`];
  return [
    `if ls -d ${shellQuoted(path)}[0-9]*/ >/dev/null 2>&1; then mkdir -p ${target} && cp -R ${shellQuoted(path)}. ${target}/; else mkdir -p ${target}/1 && cp -R ${shellQuoted(path)}. ${target}/1/; fi`,
  ];
}

/** A model's file with those of the deployment next to it whose names begin alike, such as weights. */
function filesBeside(path: string, files: readonly string[]): readonly string[] {
  const stem = path.replace(/\.[^./]+$/, "");
  return [path, ...files.filter((file) => file !== path && file.startsWith(`${stem}.`))];
}

function variableLines({ variables }: Deployment): readonly string[] {
  return Object.entries(variables).map(([name, value]) => `ENV ${name}="${literal(value)}"`);
}
