import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BuiltImage } from "./build-target.ts";

/** A run of an image: what the image itself does not say. */
export interface ContainerOptions {
  readonly args: readonly string[];
  readonly uid: number;
  readonly memoryBytes: number;
  /** Variables in addition to the image's. */
  readonly env?: Readonly<Record<string, string>>;
  /** Folders of this machine by their places in the container, which reads them. */
  readonly folders?: Readonly<Record<string, string>>;
}

/** A container that runs. */
export interface RunningContainer {
  /** Runs a program in it; returns its exit code and what it printed. */
  exec(words: readonly string[]): { readonly code: number | null; readonly output: string };
  /** Ends it by a signal to process 1; returns its exit code and what it printed. */
  stop(signal: "TERM" | "KILL"): Promise<{ readonly code: number | null; readonly output: string }>;
  /** Waits until it ends by itself. */
  ended(): Promise<{ readonly code: number | null; readonly output: string }>;
}

/** Bits of mounts that hold nothing to start. */
const SAFE = ["nosuid", "nodev", "noexec"];

/**
 * Starts a container by runc as a cluster does: a user without an account, a read-only root with a writable /tmp, no
 * capabilities, no new privileges, a limit of memory. It has this machine's network. Needs root and runc.
 */
export function runContainer(image: BuiltImage, options: ContainerOptions): RunningContainer {
  const bundle = mkdtempSync(join(tmpdir(), "kserving-container-"));
  const name = bundle.slice(bundle.lastIndexOf("/") + 1);
  writeFileSync(join(bundle, "config.json"), JSON.stringify(specOf(image, options, name)));
  const runc = (...words: readonly string[]) => spawnSync("runc", words, { encoding: "utf8", timeout: 60_000 });
  const child = spawn("runc", ["run", "--bundle", bundle, name], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => (output += bytes));
  const closed = once(child, "close");
  const ended = async () => {
    const [code] = await closed;
    runc("delete", "--force", name);
    rmSync(bundle, { recursive: true, force: true });
    return { code, output };
  };
  return {
    exec: (words) => {
      const { status, stdout, stderr } = runc("exec", name, ...words);
      return { code: status, output: stdout + stderr };
    },
    stop: (signal) => {
      runc("kill", name, signal);
      return ended();
    },
    ended,
  };
}

function specOf({ root, config }: BuiltImage, options: ContainerOptions, name: string): object {
  const { args, uid, memoryBytes, folders = {} } = options;
  const env = Object.entries({ ...config.env, ...options.env }).map(([key, value]) => `${key}=${value}`);
  const mounts = Object.entries(folders).map(([destination, source]) => ({
    ...{ destination, source, type: "bind", options: ["rbind", "ro"] },
  }));
  return {
    ociVersion: "1.0.2",
    root: { path: root, readonly: true },
    process: {
      ...{ args: [...config.entrypoint, ...args], env, cwd: config.folder },
      user: { uid, gid: 0 },
      capabilities: {},
      noNewPrivileges: true,
    },
    mounts: [...BASIC_MOUNTS, ...mounts],
    linux: {
      namespaces: ["pid", "mount", "ipc", "uts"].map((type) => ({ type })),
      cgroupsPath: `/${name}`,
      resources: { memory: { limit: memoryBytes } },
    },
  };
}

const BASIC_MOUNTS = [
  { destination: "/proc", type: "proc", source: "proc" },
  { destination: "/dev", type: "tmpfs", source: "tmpfs", options: ["nosuid", "mode=755", "size=64k"] },
  { destination: "/dev/shm", type: "tmpfs", source: "shm", options: [...SAFE, "mode=1777", "size=64m"] },
  { destination: "/tmp", type: "tmpfs", source: "tmpfs", options: ["nosuid", "nodev", "mode=1777"] },
  { destination: "/sys/fs/cgroup", type: "cgroup", source: "cgroup", options: [...SAFE, "ro"] },
];
