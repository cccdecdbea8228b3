import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../../test/helpers/run-command.ts";
import type { ClusterPrograms } from "./build-programs.ts";
import { clusterParts } from "./cluster-parts.ts";
import { type ClusterPlace, CONTAINERD_SOCKET, CONTROL_GROUP, clusterPlace } from "./cluster-place.ts";
import { Namespaces } from "./namespaces.ts";
import { waitUntil } from "./wait-until.ts";
import { writeCertificates } from "./write-certificates.ts";
import { writeClusterFiles } from "./write-cluster-files.ts";

/** Folder of the control groups (version 1), which has one for each controller. */
const CONTROL_GROUPS = "/sys/fs/cgroup";

/** A Kubernetes of one node that runs until it is stopped, or until this process ends. */
export class Cluster {
  readonly place: ClusterPlace;
  readonly programs: ClusterPrograms;
  readonly namespaces: Namespaces;

  private constructor(place: ClusterPlace, programs: ClusterPrograms, namespaces: Namespaces) {
    this.place = place;
    this.programs = programs;
    this.namespaces = namespaces;
  }

  /** Starts all parts in `folder`, which is emptied before, and waits until the node is ready. */
  static async start(folder: string, programs: ClusterPrograms): Promise<Cluster> {
    const place = clusterPlace(folder);
    removeControlGroups();
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(place.logs, { recursive: true });
    writeCertificates(place);
    writeClusterFiles(place, programs.debian);
    makeControlGroups();
    const cluster = new Cluster(place, programs, await Namespaces.open(environment(place, programs.debian)));
    try {
      for (const [name, command] of Object.entries(clusterParts(place, programs.kube)))
        cluster.namespaces.keep(command, join(place.logs, `${name}.log`));
      const isReady = () => cluster.kubectl("wait", "--for=condition=Ready", "node/node1", "--timeout=1s");
      await waitUntil("the node is ready", async () => /met/.test(await isReady()), 120);
      return cluster;
    } catch (reason) {
      console.error(cluster.lastLines());
      await cluster.stop();
      throw reason;
    }
  }

  /** Runs kubectl; returns what it prints. */
  kubectl(...args: readonly string[]): Promise<string> {
    return this.namespaces.run([this.programs.kube, "kubectl", ...args]);
  }

  /** Creates or changes objects, given as YAML or JSON. */
  async apply(objects: string, ...flags: readonly string[]): Promise<void> {
    const command = [this.programs.kube, "kubectl", "apply", "-f", "-", ...flags];
    await this.namespaces.run(command, { input: objects });
  }

  /** Posts an object to a path of the API. */
  async create(path: string, object: object): Promise<void> {
    const command = [this.programs.kube, "kubectl", "create", `--raw=${path}`, "-f", "-"];
    await this.namespaces.run(command, { input: JSON.stringify(object) });
  }

  /** Imports an OCI archive. */
  async importImage(archive: string): Promise<void> {
    const printed = await this.#images("import", archive);
    const [, name] = /^unpacking (\S+)/m.exec(printed) ?? [];
    if (name === undefined) throw new Error(`no image in ${archive}: ${printed}`);
    if (!name.includes("/")) await this.#images("tag", name, fullName(name));
  }

  /** Gives an image another name. */
  async tagImage(name: string, other: string): Promise<void> {
    await this.#images("tag", fullName(name), fullName(other));
  }

  #images(...words: readonly string[]): Promise<string> {
    const command = ["ctr", `--address=${CONTAINERD_SOCKET}`, "--namespace=k8s.io", "images", ...words];
    return this.namespaces.run(command, { seconds: 180 });
  }

  /** The last lines of the parts' logs. */
  lastLines(): string {
    const files = readdirSync(this.place.logs).map((name) => join(this.place.logs, name));
    return files.map((file) => `${file}\n${readFileSync(file, "utf8").split("\n").slice(-4).join("\n")}`).join("\n");
  }

  /** Ends all parts and pods, and removes all but the logs. */
  async stop(): Promise<void> {
    await this.namespaces.close();
    removeControlGroups();
    for (const name of readdirSync(this.place.folder))
      if (join(this.place.folder, name) !== this.place.logs)
        rmSync(join(this.place.folder, name), { recursive: true, force: true });
  }
}

/** Full name of an image without a registry. */
function fullName(name: string): string {
  return `docker.io/library/${name}`;
}

function environment({ kubeconfig }: ClusterPlace, debian: string): NodeJS.ProcessEnv {
  const folders = ["usr/bin", "usr/sbin"].map((name) => join(debian, name));
  return {
    KUBECONFIG: kubeconfig,
    PATH: [...folders, process.env.PATH].join(":"),
    LD_LIBRARY_PATH: join(debian, "usr/lib", runCommand("gcc", ["-print-multiarch"]).trim()),
  };
}

function controlGroups(): readonly string[] {
  return readdirSync(CONTROL_GROUPS).map((controller) => join(CONTROL_GROUPS, controller, CONTROL_GROUP));
}

/** The kubelet does not make its own root. */
function makeControlGroups(): void {
  if (existsSync(join(CONTROL_GROUPS, "cgroup.controllers")))
    throw new Error("This check knows control groups of version 1 only, and the machine has version 2");
  for (const group of controlGroups()) {
    mkdirSync(group);
    if (!group.includes("/cpuset/")) continue;
    for (const file of ["cpuset.cpus", "cpuset.mems"])
      writeFileSync(join(group, file), readFileSync(join(group, "..", file)));
  }
}

/** Folders of control groups are removed innermost first, and their files never. */
function removeControlGroups(): void {
  for (const group of controlGroups())
    if (existsSync(group)) runCommand("find", [group, "-depth", "-type", "d", "-exec", "rmdir", "{}", "+"]);
}
