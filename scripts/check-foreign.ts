import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { FOREIGN_GROUPS, type ForeignGroup } from "./simple-tensorflow-serving-clients.ts";
import type { ForeignClient } from "./simple-tensorflow-serving-languages.ts";

/**
 * Runs the clients and examples of a checkout of Simple TensorFlow Serving against kserving:
 * `npm run check -- foreign CHECKOUT`.
 */

const PROGRAM = resolve("bin/simple-tensorflow-serving.cjs");
/** The port that its clients ask. */
const PORT = 8500;
/** A client that takes longer has failed, in milliseconds. */
const TIMEOUT_MS = 120_000;

/** Results of a run. */
class Tally {
  passed = 0;
  readonly failed: string[] = [];
  readonly notRun: string[] = [];

  get count(): number {
    return this.passed + this.failed.length + this.notRun.length;
  }

  print(): void {
    process.stdout.write(`\n${this.passed} of ${this.count} clients and examples are answered as they expect.\n`);
    if (this.notRun.length > 0) process.stdout.write(`Not run:\n${this.notRun.map((line) => `  ${line}\n`).join("")}`);
    if (this.failed.length > 0) process.stdout.write(`Failed:\n${this.failed.map((line) => `  ${line}\n`).join("")}`);
  }
}

/** A server that answers, or the reason why it did not start. */
type Started = { readonly child: ChildProcess } | { readonly problem: string };

async function startServer(folder: string, { flags, env: variables }: ForeignGroup): Promise<Started> {
  const env = { ...process.env, KSERVING_SHUTDOWN_DELAY: "0", KSERVING_HOST: "127.0.0.1", ...variables };
  const child = spawn(process.execPath, [PROGRAM, ...flags], { cwd: folder, env, stdio: ["ignore", "ignore", "pipe"] });
  let text = "";
  const running = new Promise<Started>((done) => {
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      if (text.includes(" * Running on ")) done({ child });
    });
    child.once("exit", () => done({ problem: text.trim().split("\n").at(-1) ?? "" }));
  });
  return running;
}

async function runGroup(folder: string, group: ForeignGroup, tally: Tally): Promise<void> {
  const { flags, clients, mayFail } = group;
  process.stdout.write(`\nsimple_tensorflow_serving ${flags.join(" ")}\n`);
  const started = await startServer(folder, group);
  if ("problem" in started) {
    const list = mayFail === undefined ? tally.failed : tally.notRun;
    for (const { name } of clients) list.push(`${name}: ${mayFail ?? "the server did not start"} (${started.problem})`);
    process.stdout.write(`  did not start: ${started.problem}\n`);
    return;
  }
  for (const client of clients) await runClient(folder, client, tally);
  const gone = once(started.child, "exit");
  started.child.kill("SIGTERM");
  await gone;
}

async function runClient(folder: string, { name, command, needs, prints }: ForeignClient, tally: Tally): Promise<void> {
  if (needs !== undefined && !(await run(folder, needs[0])).isDone) {
    tally.notRun.push(`${name}: ${needs[1]}`);
    process.stdout.write(`  -   ${name}: ${needs[1]}\n`);
    return;
  }
  const { output } = await run(folder, command);
  const isRight = prints.test(output);
  process.stdout.write(`  ${isRight ? "ok " : "BAD"} ${name}\n`);
  if (isRight) tally.passed++;
  else tally.failed.push(`${name}: printed ${JSON.stringify(output.slice(-500))}`);
}

async function run(cwd: string, command: string): Promise<{ readonly isDone: boolean; readonly output: string }> {
  try {
    const { stdout } = await promisify(execFile)("bash", ["-c", command], { cwd, timeout: TIMEOUT_MS });
    return { isDone: true, output: stdout };
  } catch (reason) {
    const { stdout = "", stderr = "" } = reason as { stdout?: string; stderr?: string };
    return { isDone: false, output: stdout + stderr };
  }
}

async function isTaken(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const taken = await once(socket, "connect").then(
    () => true,
    () => false,
  );
  socket.destroy();
  return taken;
}

const [given] = process.argv.slice(2);
const folder = resolve(given ?? "");
if (given === undefined || !existsSync(join(folder, "simple_tensorflow_serving/server.py"))) {
  process.stderr.write("Usage: npm run check -- foreign CHECKOUT, a checkout of Simple TensorFlow Serving.\n");
  process.exit(2);
}
if (await isTaken(PORT)) {
  process.stderr.write(`Port ${PORT}, which its clients ask, is taken.\n`);
  process.exit(2);
}
const tally = new Tally();
for (const group of FOREIGN_GROUPS) await runGroup(folder, group, tally);
tally.print();
process.exit(tally.failed.length > 0 ? 1 : 0);
