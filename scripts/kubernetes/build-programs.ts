import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../run-command.ts";
import { goModule } from "./go-module.ts";
import { KSERVE, KUBERNETES } from "./versions.ts";

/** Programs of a cluster of one node. */
export interface ClusterPrograms {
  /** Program with all parts of Kubernetes; the first argument names one. */
  readonly kube: string;
  /** KServe's controller. */
  readonly kserve: string;
  /** Folder of KServe's Go module, with its definitions. */
  readonly kserveSource: string;
  /** Folder with the files of Debian's packages of etcd, containerd and their kind. */
  readonly debian: string;
}

const PACKAGES = ["etcd-server", "containerd", "runc", "nftables", "containernetworking-plugins"];
const KSERVE_MODULE = "github.com/kserve/kserve";

/**
 * Builds what a cluster runs, from Go modules, and unpacks Debian's packages for the rest, all within `cache`; a program
 * that is there is not built again. The first time takes half an hour. Needs Go and apt.
 */
export function buildPrograms(cache: string): ClusterPrograms {
  mkdirSync(cache, { recursive: true });
  const kserve = goModule(`${KSERVE_MODULE}@v${KSERVE}`, cache);
  return {
    debian: unpackDebian(cache),
    kube: buildOnce(join(cache, `kube-${KUBERNETES}`), buildKube),
    kserve: buildOnce(join(cache, `kserve-${KSERVE}`), (work, out) => buildKserve(kserve.GoMod, work, out)),
    kserveSource: kserve.Dir,
  };
}

/** Nothing is installed: packages that this machine has already are its own. */
function unpackDebian(cache: string): string {
  const folder = join(cache, "debian");
  if (existsSync(folder)) return folder;
  const archives = join(cache, "debian.archives");
  mkdirSync(join(archives, "partial"), { recursive: true });
  const fetching = ["--yes", "--no-install-recommends", "--download-only", `-oDir::Cache::archives=${archives}`];
  runCommand("apt-get", [...fetching, "install", ...PACKAGES]);
  const unpack = `for file in ${archives}/*.deb; do dpkg-deb -x "$file" ${folder}.making || exit 1; done`;
  runCommand("sh", ["-c", unpack]);
  rmSync(archives, { recursive: true });
  renameSync(`${folder}.making`, folder);
  return folder;
}

function buildOnce(program: string, build: (work: string, out: string) => void): string {
  if (existsSync(program)) return program;
  const work = `${program}.module`;
  mkdirSync(work, { recursive: true });
  console.log(`building ${program}`);
  build(work, `${program}.built`);
  renameSync(`${program}.built`, program);
  rmSync(work, { recursive: true });
  return program;
}

/** Kubernetes replaces its parts by folders of its repository; their published versions take their place here. */
function buildKube(work: string, out: string): void {
  const text = readFileSync(goModule(`k8s.io/kubernetes@v${KUBERNETES}`, work).GoMod, "utf8");
  const parts = [...text.matchAll(/^\s*(k8s\.io\/\S+) => \.\/staging/gm)].map(([, part]) => part);
  const published = `v0.${KUBERNETES.slice(KUBERNETES.indexOf(".") + 1)}`;
  const lines = [
    "module kube",
    ...linesOf(text, /^(go|godebug) /),
    `require k8s.io/kubernetes v${KUBERNETES}`,
    ...parts.map((part) => `replace ${part} => ${part} ${published}`),
  ];
  copyFileSync(join(import.meta.dirname, "kube.go"), join(work, "main.go"));
  const [, minor] = KUBERNETES.split(".");
  const values = { gitVersion: `v${KUBERNETES}`, gitMajor: "1", gitMinor: minor };
  const flags = Object.entries(values).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`);
  buildModule(work, { lines, packageName: ".", out, flags });
}

/** A module's own replacements count only where they are repeated. */
function buildKserve(goMod: string, work: string, out: string): void {
  const packageName = `${KSERVE_MODULE}/cmd/manager`;
  const lines = [
    "module kserve-manager",
    ...linesOf(readFileSync(goMod, "utf8"), /^(go|replace) /),
    `tool ${packageName}`,
    `require ${KSERVE_MODULE} v${KSERVE}`,
  ];
  buildModule(work, { lines, packageName, out, flags: [] });
}

function linesOf(text: string, pattern: RegExp): readonly string[] {
  return text.split("\n").filter((line) => pattern.test(line));
}

interface ModuleBuild {
  /** Lines of go.mod. */
  readonly lines: readonly string[];
  readonly packageName: string;
  readonly out: string;
  readonly flags: readonly string[];
}

function buildModule(work: string, { lines, packageName, out, flags }: ModuleBuild): void {
  writeFileSync(join(work, "go.mod"), `${lines.join("\n")}\n`);
  const go = ["CGO_ENABLED=0", "go"];
  runCommand("env", [...go, "mod", "tidy"], { cwd: work });
  const linking = ["-s", "-w", ...flags].join(" ");
  runCommand("env", [...go, "build", "-buildvcs=false", "-ldflags", linking, "-o", out, packageName], { cwd: work });
}
