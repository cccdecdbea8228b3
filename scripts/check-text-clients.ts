import { execFile } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { createServer } from "../src/index.ts";
import { CONFORMANCE, EXPECTED_FAILURES, TEXT_CLIENTS } from "./text-clients/clients.ts";
import { toyModels } from "./text-clients/toy-models.ts";

/**
 * Runs clients of texts, as their registries have them, against one server with a toy conversation, a model of
 * embeddings and a reranker, and MCP's conformance suite: `npm run check -- text-clients`. They are installed in
 * `.cache/text-clients` the first time; `--install` does nothing else, and `--only openai` runs programs of that name.
 */
const OPTIONS = { install: { type: "boolean", default: false }, only: { type: "string", default: "" } } as const;
const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PROGRAMS = join(ROOT, "scripts/text-clients");
const FOLDER = join(ROOT, ".cache/text-clients");
const PYTHON = join(FOLDER, "python/bin/python");
/** A client that takes longer has failed, in milliseconds. */
const TIMEOUT_MS = 120_000;

const run = promisify(execFile);
const isPython = (name: string) => name.endsWith(".py") || name.includes("==");

/** A call, or a scenario, and what was wrong with it. */
interface Row {
  readonly name: string;
  readonly problem?: string;
  /** The reason for which it may fail. */
  readonly excuse?: string;
}

async function install(): Promise<void> {
  const all = [...TEXT_CLIENTS.flatMap(({ packages }) => packages), ...Object.values(CONFORMANCE)];
  const list = join(FOLDER, "installed.json");
  const wanted = JSON.stringify(all);
  if (existsSync(list) && readFileSync(list, "utf8") === wanted) return;
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, "package.json"), '{ "type": "module", "private": true }\n');
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const npm = run("npm", ["install", ...quiet, ...all.filter((name) => !isPython(name))], { cwd: FOLDER });
  await run("python3", ["-m", "venv", join(FOLDER, "python")]);
  // What a client does not import is not compiled either.
  await run(PYTHON, ["-m", "pip", "install", "--quiet", "--no-compile", ...all.filter(isPython)], { maxBuffer: 1e8 });
  await npm;
  writeFileSync(list, wanted);
}

/** The output of a program however it ends, and the reason if it has not ended well. */
async function outputOf(command: string, args: readonly string[]): Promise<{ text: string; problem?: string }> {
  try {
    return { text: (await run(command, args, { cwd: FOLDER, timeout: TIMEOUT_MS, maxBuffer: 1e8 })).stdout };
  } catch (reason) {
    const { stdout = "", stderr = "" } = reason as { stdout?: string; stderr?: string };
    return { text: stdout, problem: stderr.slice(-2000) || String(reason) };
  }
}

async function runProgram(program: string, origin: string): Promise<readonly Row[]> {
  const target = [join(ROOT, "bin/kserving.cjs"), join(ROOT, "test/fixtures/models/half-plus-two.onnx")];
  const path = join(FOLDER, program);
  const { text, problem } = isPython(program)
    ? await outputOf(PYTHON, ["-W", "ignore", path, origin, process.execPath, ...target])
    : await outputOf(process.execPath, ["--no-warnings", path, origin, ...target]);
  const rows: Row[] = text.split("\n").flatMap((line) => (line.startsWith("{") ? [JSON.parse(line)] : []));
  if (problem === undefined && rows.length > 0) return rows;
  return [...rows, { name: "the program", problem: problem ?? "it made no call" }];
}

/** Scenarios of MCP's suite: one that fails without an excuse is a failure, as is one that needs its excuse no more. */
async function runConformance(origin: string): Promise<readonly Row[]> {
  const suite = join(FOLDER, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
  const node = join(FOLDER, "node_modules", CONFORMANCE.node.replace(/@[^@]*$/, ""), "bin/node");
  const results = mkdtempSync(join(tmpdir(), "kserving-conformance-"));
  const args = [suite, "server", "--url", `${origin}/mcp`, "--suite", "all", "-o", results];
  const { text, problem } = await outputOf(node, args);
  rmSync(results, { recursive: true, force: true });
  const rows = [...text.matchAll(/^([✓✗]) ([\w-]+): (.*)$/gm)].map(([, mark, name = "", said]): Row => {
    const excuse = EXPECTED_FAILURES[name];
    if (mark === "✗") return { name, ...(excuse === undefined ? { problem: String(said) } : { excuse }) };
    return { name, ...(excuse !== undefined && { problem: "it passes, and is in the list of those that may fail" }) };
  });
  return rows.length > 0 ? rows : [{ name: "the suite", problem: problem ?? text.slice(-2000) }];
}

/** Prints a row for each; returns the number of failures. */
function print(client: string, rows: readonly Row[]): number {
  for (const { name, problem, excuse } of rows) {
    const mark = problem !== undefined ? "BAD" : excuse !== undefined ? "-  " : "ok ";
    process.stdout.write(`${mark} ${client}: ${name}${excuse === undefined ? "" : ` (${excuse})`}\n`);
    if (problem !== undefined) process.stdout.write(`${problem.replace(/^/gm, "    ")}\n`);
  }
  return rows.filter(({ problem }) => problem !== undefined).length;
}

async function check(only: string): Promise<number> {
  // Packages are found from the folder that a program is in.
  for (const name of readdirSync(PROGRAMS).filter((each) => !each.endsWith(".ts")))
    copyFileSync(join(PROGRAMS, name), join(FOLDER, name));
  const models = mkdtempSync(join(tmpdir(), "kserving-text-clients-"));
  const server = await createServer({ models: toyModels(models), mcp: true, http: {} });
  const origin = String(server.httpUrl);
  const chosen = TEXT_CLIENTS.filter(({ program }) => program.includes(only));
  let failures = 0;
  const runAll = async (clients: typeof chosen) => {
    for (const { program, packages } of clients) {
      const rows = await runProgram(program, origin);
      failures += print(String(packages[0]), rows);
    }
  };
  try {
    const [python, node] = [true, false].map((own) => chosen.filter(({ program }) => isPython(program) === own));
    await Promise.all([runAll(python ?? []), runAll(node ?? [])]);
    if (!"conformance".includes(only)) return failures;
    return failures + print(CONFORMANCE.suite, await runConformance(origin));
  } finally {
    await server.close();
    rmSync(models, { recursive: true, force: true });
  }
}

const { install: installsOnly, only } = parseArgs({ options: OPTIONS }).values;
await install();
if (!installsOnly) {
  const failures = await check(only);
  process.stdout.write(failures === 0 ? "Every call is answered as its client expects.\n" : `${failures} failed.\n`);
  process.exitCode = failures === 0 ? 0 : 1;
}
