import { posix } from "node:path";
import { failedPrecondition } from "../../errors.ts";
import { writeYaml } from "../../tensor/codecs/config/yaml.ts";
import { assertNoConfig, hookTargets, kubernetesContainer, pullPolicy, VOLUMES } from "./container.ts";
import type { DeployedModel, Deployment, ExportedFiles } from "./deployment.ts";
import { copyTo, endLines, programLines } from "./dockerfile.ts";

/** The Dockerfile of the model's own image. */
export const MODEL_FILE = "model.Dockerfile";
/** Folder of a modelcar's image. */
const CAR_FOLDER = "/models";
/** Ports of KServe's own servers. */
const PORTS = { httpPort: 8080, grpcPort: 8081 };

/**
 * Files for KServe: an image of the runtime, one of the model unless that is at an address, a runtime, and an
 * InferenceService. Throws `failed_precondition` for what KServe has no place for.
 */
export function kserveFiles(deployment: Deployment, isRemote: (path: string) => boolean): ExportedFiles {
  assertNoConfig(deployment, "KServe");
  const [model, second] = deployment.models;
  if (model === undefined || second !== undefined)
    throw failedPrecondition(
      `An InferenceService has one model; expected one, not ${deployment.models.length}. Files for several: kserving export kubernetes.`,
    );
  const atAddress = isRemote(model.path);
  if (atAddress && deployment.hooks !== undefined)
    throw failedPrecondition(
      "Hooks lie in the folder of the model, which is at an address; expected them there as hooks.ts, or a model of this machine.",
    );
  const own = { ...deployment, ...PORTS };
  const car = modelImage(deployment.image);
  return {
    Dockerfile: [...programLines(own), ...endLines(own), `CMD ["kserve"]`, ""].join("\n"),
    ...(!atAddress && { [MODEL_FILE]: modelcar(model, deployment) }),
    "kserve.yaml": writeYaml(
      runtime(own, model),
      inferenceService(own, { model, uri: atAddress ? model.path : `oci://${car}` }),
    ),
  };
}

/** Name of the model's image; the runtime has its own. */
export function modelImage(image: string): string {
  return image.replace(/(:[^/:]*)?$/, (tag) => `-model${tag}`);
}

/** An image of KServe's form for models: its only content is a folder. */
function modelcar({ path, texts = [] }: DeployedModel, deployment: Deployment): string {
  const hooks = hookTargets(deployment);
  const own = deployment.files.filter((file) => !hooks.some((hook) => hook.file === file));
  // Docker copies what a folder contains.
  const within = (file: string) => (texts.includes(file) && file.endsWith("/") ? `${posix.basename(file)}/` : "");
  const lines = own.map((file) => copyTo(file, `${CAR_FOLDER}/${within(file)}`));
  const beside = hooks.map(({ file, target }) => copyTo(file, `${CAR_FOLDER}/${target}`));
  return [`# ${path}`, "FROM busybox:stable AS model", ...lines, ...beside, ""].join("\n");
}

function runtime(deployment: Deployment, model: DeployedModel): object {
  const { name, image, drivers } = deployment;
  const env = Object.entries(deployment.variables).map(([key, value]) => ({ name: key, value }));
  const args = ["kserve", "--model_name={{.Name}}", "--model_dir=/mnt/models", ...portArgs()];
  const own = { name: "kserve-container", image, imagePullPolicy: pullPolicy(image) };
  return {
    apiVersion: "serving.kserve.io/v1alpha1",
    kind: "ServingRuntime",
    metadata: { name },
    spec: {
      annotations: { "prometheus.kserve.io/port": String(PORTS.httpPort), "prometheus.kserve.io/path": "/metrics" },
      supportedModelFormats: [{ name: formatOf(model, drivers) }],
      protocolVersions: ["v1", "v2", "grpc-v2"],
      containers: [{ ...own, args, env, ...kubernetesContainer(deployment) }],
      volumes: VOLUMES,
    },
  };
}

/** A name that the runtime and the service share; KServe itself does not use it. */
function formatOf({ driver }: DeployedModel, [found = "model"]: readonly string[]): string {
  return driver ?? found;
}

function portArgs(): readonly string[] {
  return [`--http_port=${PORTS.httpPort}`, `--grpc_port=${PORTS.grpcPort}`];
}

function inferenceService(
  { name, drivers }: Deployment,
  { model, uri }: { readonly model: DeployedModel; readonly uri: string },
): object {
  const modelFormat = { name: formatOf(model, drivers) };
  return {
    apiVersion: "serving.kserve.io/v1beta1",
    kind: "InferenceService",
    metadata: { name },
    spec: { predictor: { model: { modelFormat, runtime: name, protocolVersion: "v2", storageUri: uri } } },
  };
}
