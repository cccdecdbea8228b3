import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { Argument, type Command } from "commander";
import { invalidArgument } from "../../errors.ts";
import { outputProblem } from "../../platform/text/file-problem.ts";
import { maskSecrets } from "../../platform/text/mask-secrets.ts";
import { shellWord } from "../../platform/text/terminal.ts";
import { isRemoteAddress } from "../../storage/remote-address.ts";
import { npmPack } from "../../storage/runtimes/npm.ts";
import { isPushed } from "../../tools/export/container.ts";
import { type Deployment, PACKAGE_CONTEXT, type PackedProgram, WORK_FOLDER } from "../../tools/export/deployment.ts";
import { pythonPackages } from "../../tools/export/dockerfile.ts";
import { EXPORT_TARGETS, type ExportTarget, exportFiles } from "../../tools/export/export-files.ts";
import { MODEL_FILE, modelImage } from "../../tools/export/kserve-files.ts";
import { INSTALL_FILE } from "../../tools/export/systemd-files.ts";
import { type DeploymentNames, readDeployment } from "../export/read-deployment.ts";
import { createParser, runParser } from "./create-parser.ts";
import { assertEmptyFolder } from "./out-files.ts";

const EPILOGUE = `
Examples:
  kserving export docker -- models/emotion.onnx hooks.ts
  kserving export kubernetes --to deploy --image registry.example/faces:1 -- --config models.yaml
  kserving export kserve --image registry.example/iris:1 -- models/iris.joblib
  kserving export systemd -- models/emotion.onnx hooks.ts --http-port 80

What stands behind -- is a command line of kserving serve, with its files below this folder. The commands that build,
push and start are printed, in their order, to be given here. (docs/kubernetes.md, docs/operations.md)
`;

/** `kserving export`: writes the files that run a command line elsewhere. */
export async function exportCommand(argv: readonly string[]): Promise<void> {
  const end = argv.indexOf("--");
  const [own, args] = end === -1 ? [argv, []] : [argv.slice(0, end), argv.slice(end + 1)];
  await runParser(createExportCommand(args), own);
}

/** The parser of `kserving export`, for a command line of `kserving serve`. */
export function createExportCommand(args: readonly string[]): Command {
  return createParser("export", {
    description: "Writes the files that run a command line of kserving elsewhere.",
    epilogue: EPILOGUE,
  })
    .addArgument(new Argument("<target>", "what runs it").choices(EXPORT_TARGETS))
    .option("--to <folder>", "a folder that is empty or not there (default: the target's name)")
    .option("--name <name>", "name of what is deployed (default: the model's)")
    .option("--image <image>", "image that is built (default: NAME:1)")
    .option("--json", "print JSON")
    .action((target: ExportTarget, flags: ExportFlags) => run(target, flags, args));
}

interface ExportFlags extends DeploymentNames {
  readonly to?: string;
  readonly json?: boolean;
}

async function run(
  target: ExportTarget,
  { json = false, ...flags }: ExportFlags,
  args: readonly string[],
): Promise<void> {
  if (args.length === 0)
    throw invalidArgument(`kserving export ${target} needs a command line, such as: -- models/emotion.onnx hooks.ts`);
  const { to = target } = flags;
  const folder = resolve(to);
  assertEmptyFolder(folder, to);
  // A machine has services, users and folders of its own, some of which are named as models are.
  const read = await readDeployment(args, target === "systemd" ? { name: "kserving", ...flags } : flags);
  assertReached(target, read.host);
  const paths = { up: relative(folder, resolve()) || ".", down: relative(resolve(), folder) || "." };
  const packed = await packProgram();
  const deployment = { ...read, program: toProgram(packed, paths.down) };
  const readExample = (name: string) => readFileSync(join(ROOT, "examples/systemd", name), "utf8");
  const files = exportFiles(target, deployment, { folder: paths, isRemote: isRemoteAddress, readExample });
  writeAll({ ...files, [packed.name]: packed.bytes }, { folder, to });
  const steps = nextSteps(target, { ...deployment, to, hasModelImage: MODEL_FILE in files });
  const notes = [
    ...secretNote(target, deployment.secrets),
    ...writtenNote(target, deployment.written),
    ...deviceNote(target, deployment),
    ...wordNote(args),
    ...imageNote(target, deployment.image),
  ];
  const names = [...Object.keys(files), packed.name];
  if (json) return console.log(JSON.stringify({ folder, files: names, notes, commands: steps }, null, 2));
  console.log([`${to} has ${names.join(", ")}.`, ...notes, "", ...steps.map((step) => `  ${step}`)].join("\n"));
}

function assertReached(target: ExportTarget, host = ""): void {
  if (target === "systemd" || !/^(?:localhost|127\.|\[?::1)/.test(host)) return;
  throw invalidArgument(`--host ${host} is reached from within the container alone; leave it out.`);
}

function toProgram({ name, sha256 }: PackedPackage, down: string): PackedProgram {
  const isOutside = down.startsWith("..") || isAbsolute(down);
  const file = isOutside || down === "." ? name : `${down.split(sep).join("/")}/${name}`;
  return { file, sha256, isOutside };
}

/** A key in an image is everybody's who has the image. */
function secretNote(target: ExportTarget, flags: readonly string[]): readonly string[] {
  if (flags.length === 0) return [];
  if (target === "systemd")
    return [`${INSTALL_FILE} copies the files of ${flags.join(", ")} to where root reads them.`];
  return [
    `Files of ${flags.join(", ")} are not in the image: mount them below ${WORK_FOLDER}, as the flags have them.`,
  ];
}

/** A service of systemd has folders for what it writes. */
function writtenNote(target: ExportTarget, written: Deployment["written"]): readonly string[] {
  const flags = Object.keys(written).filter((flag) => !written[flag]?.startsWith("/tmp/"));
  if (target === "systemd" || flags.length === 0) return [];
  return [
    `What ${flags.join(", ")} name is written, and a container may write below /tmp alone: name a path there, or mount a folder where the flags have it.`,
  ];
}

/** Ways to a GPU, by target; the files ask for none, as few machines have one to give. */
const DEVICES: Readonly<Record<Exclude<ExportTarget, "systemd">, string>> = {
  docker: "docker run --gpus all for NVIDIA's, --device /dev/dri for Intel's",
  compose: "gpus: all at the service for NVIDIA's, devices: [/dev/dri] for Intel's",
  kubernetes: "nvidia.com/gpu: 1 among limits of resources in the manifest",
  helm: String.raw`--set 'resources.limits.nvidia\.com/gpu=1' with helm, for NVIDIA's`,
  kserve: "nvidia.com/gpu: 1 among limits of resources in the manifest",
  sagemaker: "an instance type that has one, such as ml.g5.xlarge",
};

/** The line about a device that a model of the deployment asks for; empty if none does. */
export function deviceNote(
  target: ExportTarget,
  { name, hasDevice }: Pick<Deployment, "name" | "hasDevice">,
): readonly string[] {
  if (!hasDevice) return [];
  if (target === "systemd")
    return [
      `${name}.service sees the devices of this system (PrivateDevices=no), for a model asks for one; a device of a group also needs SupplementaryGroups=, such as render.`,
    ];
  return [`A model asks for a device, and a container sees none unless it is given one: ${DEVICES[target]}.`];
}

/** Passwords in addresses and options are what the server starts with. */
function wordNote(args: readonly string[]): readonly string[] {
  const secret = args.map(maskSecrets).filter((word, index) => word !== args[index]);
  if (secret.length === 0) return [];
  return [`The files have what is secret in ${secret.join(", ")}: keep them, and the image, from others.`];
}

/** Targets whose images are built here and run elsewhere. */
const PULLED: readonly ExportTarget[] = ["kubernetes", "helm", "kserve", "sagemaker"];

function imageNote(target: ExportTarget, image: string): readonly string[] {
  if (!PULLED.includes(target) || isPushed(image)) return [];
  const others = target === "helm" ? `, or set image and imagePullPolicy` : "";
  return [
    `"${image}" names no registry, so nothing pulls it: load it where it runs (kind load docker-image ${image}), or export again with --image REGISTRY/${image}${others}.`,
  ];
}

function writeAll(
  files: Readonly<Record<string, string | Uint8Array>>,
  { folder, to }: { folder: string; to: string },
): void {
  try {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text, { mode: name.endsWith(".sh") ? 0o755 : 0o644 });
    }
  } catch (cause) {
    throw invalidArgument(`The folder "${to}" ${outputProblem(cause)}; expected one that can be written.`, cause);
  }
}

interface Written extends Omit<Deployment, "files"> {
  readonly to: string;
  readonly hasModelImage: boolean;
}

/** The commands that use the files, in their order. */
function nextSteps(target: ExportTarget, written: Written): readonly string[] {
  const { to, name, image, hasModelImage } = written;
  const at = (file: string) => shellWord(`${to}/${file}`);
  const buildAs = (file: string, tag: string) => `docker build -f ${at(file)} -t ${shellWord(tag)} .`;
  const build = withContext(buildAs("Dockerfile", image), written.program, to);
  const pushed = (tag: string) => (isPushed(tag) ? [`docker push ${shellWord(tag)}`] : []);
  const car = modelImage(image);
  const model = hasModelImage ? [buildAs(MODEL_FILE, car), ...pushed(car)] : [];
  const steps: Readonly<Record<ExportTarget, readonly string[]>> = {
    docker: [build, ...pushed(image)],
    compose: [`docker compose -f ${at("compose.yaml")} up --build`],
    kubernetes: [build, ...pushed(image), `kubectl apply -f ${at("kubernetes.yaml")}`],
    helm: [build, ...pushed(image), `helm install ${name} ${shellWord(to)}`],
    kserve: [build, ...pushed(image), ...model, `kubectl apply -f ${at("kserve.yaml")}`],
    sagemaker: [build, ...pushed(image), `sh ${at("pack-model.sh")}`],
    systemd: [...debianSteps(written), `sudo sh ${at(INSTALL_FILE)}`, `systemctl status ${name}.service`],
  };
  return steps[target];
}

function debianSteps({ drivers }: Written): readonly string[] {
  const { debian = [] } = pythonPackages(drivers) ?? {};
  return debian.length === 0 ? [] : [`sudo apt-get install ${debian.join(" ")}`];
}

/** Files that are not below the folder that an image is built from are in another context. */
function withContext(build: string, { isOutside }: PackedProgram, to: string): string {
  return isOutside ? build.replace(" -f ", ` --build-context ${PACKAGE_CONTEXT}=${shellWord(to)} -f `) : build;
}

/** The folder of this package, from the sources and when built. */
const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** This package as an archive. */
interface PackedPackage {
  readonly name: string;
  readonly bytes: Buffer;
  readonly sha256: string;
}

/** Packs the running program's own package, which needs no network. Throws `failed_precondition` without npm. */
async function packProgram(root = ROOT): Promise<PackedPackage> {
  const folder = await mkdtemp(join(tmpdir(), "kserving-pack-"));
  try {
    const path = await npmPack(root, { folder: join(folder, "packed"), signal: new AbortController().signal });
    const bytes = await readFile(path);
    return { name: basename(path), bytes, sha256: createHash("sha256").update(bytes).digest("hex") };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
