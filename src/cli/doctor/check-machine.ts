import { accessSync, constants, statfsSync } from "node:fs";
import { cpus, tmpdir, totalmem } from "node:os";
import { reasonText } from "../../errors.ts";
import { freeMemory } from "../../platform/limits/memory/free-memory.ts";
import { processors } from "../../platform/machine/container.ts";
import { readText } from "../../platform/machine/system.ts";
import { sizeText } from "../../platform/text/size-text.ts";
import { type FoundRuntime, listRuntimes, type RuntimeReport } from "../../storage/runtimes/list-runtimes.ts";
import { runtimesFolder } from "../../storage/runtimes/runtimes-folder.ts";

/** One thing that `kserving doctor` has looked at. */
export interface Finding {
  readonly check: string;
  /** `problem`: kserving, or what was asked for, cannot work. `warning`: it works, but worse than it could. */
  readonly state: "ok" | "warning" | "problem";
  readonly text: string;
  /** The command or the step that mends it. */
  readonly fix?: string;
}

/** The first version of Node that is supported, as package.json has it. */
const NODE = [20, 19] as const;
/** Instructions that runtimes use, by how /proc/cpuinfo calls them. */
const FEATURES = [
  "sse4_2",
  "avx",
  "avx2",
  "fma",
  "avx512f",
  "avx512_vnni",
  "avx_vnni",
  "amx_tile",
  "asimd",
  "asimddp",
  "i8mm",
  "sve",
];
/** Free memory below which a model of a usual size may not load, in bytes. */
const LITTLE_MEMORY = 512 * 2 ** 20;
/** Free space below which compiled hooks, caches and runtimes may not fit, in bytes. */
const LITTLE_SPACE = 256 * 2 ** 20;
/** Each connection is an open file. */
const FEW_FILES = 4096;

/** Packages with a part for each system, and what lacks without them. */
const PACKAGES: Readonly<Record<string, string>> = {
  sharp: "images cannot be decoded",
  koffi: "native runtimes cannot be called",
  esbuild: "hook files cannot be compiled",
};

/** Looks at Node, the processor, memory, limits and folders of this machine. */
export async function checkMachine(): Promise<readonly Finding[]> {
  return [
    checkNode(),
    checkProcessor(),
    await checkMemory(),
    ...checkFiles(),
    checkFolder("temporary folder", tmpdir()),
  ];
}

function checkNode(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const text = `Node.js ${process.versions.node} on ${process.platform} ${process.arch}`;
  const isOld = major < NODE[0] || (major === NODE[0] && minor < NODE[1]);
  if (!isOld) return { check: "Node", state: "ok", text };
  const fix = `install Node.js ${NODE.join(".")} or newer: https://nodejs.org`;
  return { check: "Node", state: "problem", text: `${text} is older than ${NODE.join(".")}`, fix };
}

function checkProcessor(): Finding {
  const flags = /^(?:flags|Features)\s*:(.*)$/m.exec(readText("/proc/cpuinfo"))?.[1]?.split(" ") ?? [];
  const found = FEATURES.filter((feature) => flags.includes(feature));
  const model = cpus()[0]?.model.trim() ?? "unknown processor";
  const list = found.length === 0 ? "" : `, ${found.join(" ")}`;
  const text = `${processors()} cores, ${model}${list}`;
  if (process.arch !== "x64" || flags.length === 0 || flags.includes("avx"))
    return { check: "Processor", state: "ok", text };
  return {
    check: "Processor",
    state: "warning",
    text: `${text}; without AVX, TensorFlow's library does not run and others are slow`,
    fix: "let the virtual machine pass the processor's features on (for example -cpu host)",
  };
}

async function checkMemory(): Promise<Finding> {
  const free = freeMemory();
  const text =
    free === undefined ? `${sizeText(totalmem())} of memory` : `${sizeText(free.bytes)} of ${free.of} are free`;
  if (free === undefined || free.bytes >= LITTLE_MEMORY) return { check: "Memory", state: "ok", text };
  const fix = free.of === "this container" ? "give the container more memory" : "end other programs, or add memory";
  return { check: "Memory", state: "warning", text, fix };
}

/** Looks at the limits of systems that tell them. */
function checkFiles(): Finding[] {
  const files = /^Max open files\s+(\d+|unlimited)/m.exec(readText("/proc/self/limits"))?.[1];
  if (files === undefined) return [];
  const text = `${files} files and connections may be open`;
  if (!(Number(files) < FEW_FILES)) return [{ check: "Limits", state: "ok", text }];
  return [{ check: "Limits", state: "warning", text, fix: "ulimit -n 65536 (LimitNOFILE=65536 of a systemd unit)" }];
}

/** The folder where compiled hooks are kept while they run. */
function checkFolder(name: string, path: string): Finding {
  const check = "Disk";
  try {
    accessSync(path, constants.W_OK);
    const { bavail, bsize } = statfsSync(path);
    const text = `${sizeText(bavail * bsize)} are free in the ${name} ${path}; runtimes are in ${runtimesFolder()}`;
    if (bavail * bsize >= LITTLE_SPACE) return { check, state: "ok", text };
    return { check, state: "warning", text, fix: "free some space, or set TMPDIR" };
  } catch (reason) {
    return { check, state: "problem", text: `the ${name} cannot be written: ${reasonText(reason)}`, fix: "set TMPDIR" };
  }
}

/** Imports the packages that npm may have left out, or installed for another system. */
export async function checkPackages(
  load: (name: string) => Promise<unknown> = (name) => import(name),
): Promise<readonly Finding[]> {
  return Promise.all(Object.entries(PACKAGES).map(([name, lack]) => checkPackage(name, lack, load)));
}

async function checkPackage(name: string, lack: string, load: (name: string) => Promise<unknown>): Promise<Finding> {
  const check = `npm package ${name}`;
  try {
    await load(name);
    return { check, state: "ok", text: "loads" };
  } catch (reason) {
    const text = `does not load, so ${lack}: ${reasonText(reason).split("\n", 1)[0]}`;
    return { check, state: "problem", text, fix: `npm install --include=optional ${name}, on this system` };
  }
}

/**
 * Loads every runtime in its own process. A runtime that is not there is no problem, one that does not load is.
 */
export async function checkRuntimes(
  list: () => Promise<readonly RuntimeReport[]> = listRuntimes,
): Promise<readonly Finding[]> {
  return (await list()).map(toFinding);
}

function toFinding({ title, found, install }: RuntimeReport): Finding {
  const used = found.find(({ isUsed }) => isUsed);
  const fix = install === undefined ? {} : { fix: install };
  if (used?.problem !== undefined) {
    const state = used.version === undefined ? "problem" : "warning";
    return { check: title, state, text: `${placeOf(used)}: ${used.problem}`, ...fix };
  }
  if (used !== undefined)
    return { check: title, state: "ok", text: `${used.version ?? ""} of ${placeOf(used)}`.trim() };
  const [broken] = found;
  if (broken?.problem !== undefined)
    return { check: title, state: "warning", text: `${placeOf(broken)}: ${broken.problem}`, ...fix };
  return { check: title, state: "ok", text: `not installed${install === undefined ? "" : `; ${install}`}` };
}

function placeOf({ source, path }: FoundRuntime): string {
  return path === undefined ? source : `${source} (${path})`;
}
