import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../../test/helpers/run-command.ts";
import { buildModule, linesOf, type ModuleBuild } from "./build-module.ts";
import { goModule } from "./go-module.ts";
import { KUBERNETES } from "./versions.ts";

/** Programs of a cluster of one node. */
export interface ClusterPrograms {
  /** Program with all parts of Kubernetes; the first argument names one. */
  readonly kube: string;
  /** Folder with the files of Debian's packages of etcd, containerd and their kind. */
  readonly debian: string;
}

const PACKAGES = ["etcd-server", "containerd", "runc", "nftables", "containernetworking-plugins"];

/**
 * Builds what a cluster runs, from a Go module, and unpacks Debian's packages for the rest, all within `cache`; a
 * program that is there is not built again. The first time takes a quarter of an hour. Needs Go and apt.
 */
export function buildPrograms(cache: string): ClusterPrograms {
  mkdirSync(cache, { recursive: true });
  return {
    debian: unpackDebian(cache),
    kube: buildModule(join(cache, `kube-${KUBERNETES}`), describeKube),
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

/** Kubernetes replaces its parts by folders of its repository; their published versions take their place here. */
function describeKube(folder: string): ModuleBuild {
  const text = readFileSync(goModule(`k8s.io/kubernetes@v${KUBERNETES}`, folder).GoMod, "utf8");
  const parts = [...text.matchAll(/^\s*(k8s\.io\/\S+) => \.\/staging/gm)].map(([, part]) => part);
  const published = `v0.${KUBERNETES.slice(KUBERNETES.indexOf(".") + 1)}`;
  const [, minor] = KUBERNETES.split(".");
  const values = { gitVersion: `v${KUBERNETES}`, gitMajor: "1", gitMinor: minor };
  return {
    lines: [
      "module kube",
      ...linesOf(text, /^(go|godebug) /),
      `require k8s.io/kubernetes v${KUBERNETES}`,
      ...parts.map((part) => `replace ${part} => ${part} ${published}`),
    ],
    packageName: ".",
    flags: Object.entries(values).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`),
    writeSource: (to) => copyFileSync(join(import.meta.dirname, "kube.go"), join(to, "main.go")),
  };
}
