import { accessSync, constants, statfsSync } from "node:fs";
import { cpus, tmpdir, totalmem } from "node:os";
import type { Command } from "commander";
import { TlsFiles } from "../../access/tls-files.ts";
import { failedPrecondition, reasonText } from "../../errors.ts";
import { freeMemory } from "../../platform/limits/memory/free-memory.ts";
import { processors } from "../../platform/machine/container.ts";
import { readText } from "../../platform/machine/system.ts";
import { maskSecrets } from "../../platform/text/mask-secrets.ts";
import { sizeText } from "../../platform/text/size-text.ts";
import { printable, toColumns } from "../../platform/text/terminal.ts";
import { type FoundRuntime, listRuntimes, type RuntimeReport } from "../../storage/runtimes/list-runtimes.ts";
import { runtimesFolder } from "../../storage/runtimes/runtimes-folder.ts";
import { probePort } from "../addresses/probe-port.ts";
import { withProgress } from "../live-line.ts";
import { type Environment, misspeltVariables } from "../settings/environment.ts";
import { readServeSettings } from "../settings/read-serve-settings.ts";
import { flagOf, type SettingName, type Settings } from "../settings/settings.ts";
import { createParser, runParser } from "./create-parser.ts";
import { toTlsPaths } from "./tls-options.ts";

const EPILOGUE = `
Examples:
  kserving doctor
  kserving doctor --config serving.yaml --http-port 8080
  kserving doctor --json

With flags of kserving serve it looks at what they say. The exit code is 1 where there is a problem; warnings do not count.
`;

const MARKS = { ok: "ok", warning: "warning", problem: "PROBLEM" } as const;

/**
 * `kserving doctor`: the problems of this machine, each with the command that mends it.
 * Throws `failed_precondition` if there is one.
 */
export async function doctor(argv: readonly string[], env: Environment): Promise<void> {
  const command: Command = createDoctorCommand().action((flags: readonly string[], { json = false }) =>
    run(flags, json, env),
  );
  await runParser(command, argv);
}

/** The parser of `kserving doctor`. */
export function createDoctorCommand(): Command {
  return createParser("doctor", {
    description: "Looks at this machine, the runtimes and the settings: what is wrong, and the command that mends it.",
    epilogue: EPILOGUE,
  })
    .argument("[flags...]", "flags of kserving serve")
    .allowUnknownOption()
    .option("--json", "print JSON");
}

async function run(flags: readonly string[], json: boolean, env: Environment): Promise<void> {
  const checks = [checkMachine(), checkPackages(), checkRuntimes(), checkSettings(flags, env)];
  const findings = (await withProgress("looking at runtimes", () => Promise.all(checks))).flat();
  const text = json ? JSON.stringify(findings, null, 2) : toLines(findings).join("\n");
  console.log(printable(maskSecrets(text)));
  const problems = findings.filter(({ state }) => state === "problem").length;
  if (problems > 0)
    throw failedPrecondition(
      `${problems === 1 ? "1 problem is" : `${problems} problems are`} listed above, with what to do.`,
    );
}

function toLines(findings: readonly Finding[]): string[] {
  const lines = toColumns(
    findings.map(({ state, check, text }) => [MARKS[state], check, text.replace(/\s*\n\s*/g, " ")]),
  );
  return findings.flatMap(({ fix }, index) => [
    lines[index] as string,
    ...(fix === undefined ? [] : [`         → ${fix}`]),
  ]);
}

/** Reads the settings as `kserving serve` would, with its files, and looks at ports and certificates that they name. */
export async function checkSettings(flags: readonly string[], env: Environment): Promise<readonly Finding[]> {
  const variables = misspeltVariables(env).map((text) => ({ check: "Variables", state: "warning", text }) as const);
  try {
    const { settings, origins } = await readServeSettings(flags, env);
    const given = [...origins].map(([name, origin]) =>
      origin === flagOf(name) ? origin : `${flagOf(name)} by ${origin}`,
    );
    const text = given.length === 0 ? "all settings have their defaults" : given.join(", ");
    const ports = await Promise.all(portsOf(settings).map((port) => checkPort(settings, port)));
    return [{ check: "Settings", state: "ok", text }, ...variables, ...ports, ...(await checkCertificate(settings))];
  } catch (reason) {
    const fix = "kserving config check FILE and kserving --help say what is expected";
    return [{ check: "Settings", state: "problem", text: reasonText(reason), fix }, ...variables];
  }
}

type PortName = Extract<SettingName, "port" | "httpPort">;

/** The ports that the server would listen on: one if gRPC and HTTP share it. */
function portsOf({ grpcSocketOnly, httpEnable, port, httpPort }: Settings<"serve">): readonly PortName[] {
  const isShared = !grpcSocketOnly && port === httpPort && port !== 0;
  return [...(grpcSocketOnly ? [] : ["port" as const]), ...(httpEnable && !isShared ? ["httpPort" as const] : [])];
}

async function checkPort(settings: Settings<"serve">, name: PortName): Promise<Finding> {
  const check = name === "port" ? "gRPC port" : "HTTP port";
  try {
    const port = await probePort(settings.host, settings[name], name);
    return { check, state: "ok", text: `${port} of ${settings.host} is free` };
  } catch (reason) {
    return {
      check,
      state: "problem",
      text: reasonText(reason),
      fix: `${flagOf(name)} 0 takes a free one; ss -ltnp shows who has it`,
    };
  }
}

/** Reads the files as a server does at its start. */
async function checkCertificate(settings: Settings<"serve">): Promise<Finding[]> {
  const check = "Certificate";
  try {
    const paths = toTlsPaths(settings);
    if (paths === undefined) return [];
    const files = await TlsFiles.open(paths);
    const { subject, validTo } = files.certificate;
    const { isSoon = false, text } = files.validityProblem() ?? {};
    if (text === undefined)
      return [{ check, state: "ok", text: `${subject.replaceAll("\n", ", ")} is valid until ${validTo}` }];
    return [{ check, state: isSoon ? "warning" : "problem", text, fix: `renew ${paths.cert}` }];
  } catch (reason) {
    return [{ check, state: "problem", text: reasonText(reason), fix: "kserving --help says what is expected" }];
  }
}

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
/** The version that is recommended (docs/performance.md). */
const RECOMMENDED_NODE = 24;
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
  if (!isOld) {
    const advice = major < RECOMMENDED_NODE ? `; version ${RECOMMENDED_NODE} is recommended` : "";
    return { check: "Node", state: "ok", text: text + advice };
  }
  const fix = `install Node.js ${RECOMMENDED_NODE}, or ${NODE.join(".")} or newer: https://nodejs.org`;
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

/** The folder in which compiled hooks are kept while they run. */
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
