import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";

/**
 * Runs the tests that SageMaker's container for TensorFlow Serving has for itself against this server, from a checkout
 * of its repository. They start the container by `docker`: a program of that name starts `kserving serve` in its place.
 * Their handlers run as they are, in environments of the tests' Python, where their requirements are installed.
 */

const TESTS = "test/integration/local";
/** Tests about what only the original consists of. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  "test_nginx_config.py": "looks for the lines of nginx's configuration in the log",
  "test_tfs_batching.py": "looks for the text of TensorFlow Serving's batching file in the log",
};
/** Tests that this server answers otherwise on purpose. */
const DIFFERENT: Readonly<Record<string, string>> = {
  "test_container.py::test_predict_instance_jsonlines_input_error":
    "wants the text of TensorFlow before 2.8, Invalid argument; newer ones, and this server, say INVALID_ARGUMENT",
};

const [checkout] = process.argv.slice(2);
if (checkout === undefined)
  throw new Error("usage: npm run check -- sagemaker CHECKOUT, which has test/integration/local");
const python = process.env.KSERVING_TEST_PYTHON ?? "python3";
const folder = mkdtempSync(join(tmpdir(), "kserving-sagemaker-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

const copy = join(folder, "checkout");
cpSync(resolve(checkout, "test"), join(copy, "test"), { recursive: true });
const bin = join(folder, "bin");
mkdirSync(bin);
writeFileSync(join(bin, "docker"), dockerScript(), { mode: 0o755 });

const files = readdirSync(join(copy, TESTS)).filter((name) => /^test_.*\.py$/.test(name));
for (const [test, reason] of Object.entries(DIFFERENT)) console.log(`${test}: left out: it ${reason}`);
for (const file of files) {
  if (file in LEFT_OUT) console.log(`${file}: left out: it ${LEFT_OUT[file]}`);
  else if (!passes(file)) process.exitCode = 1;
}

/** Runs the tests of a file, and prints how many of them passed and which did not. */
function passes(file: string): boolean {
  const deselected = Object.keys(DIFFERENT).flatMap((test) => ["--deselect", `${TESTS}/${test}`]);
  const args = [
    "-m",
    "pytest",
    "-q",
    "-p",
    "no:cacheprovider",
    `${TESTS}/${file}`,
    "--framework-version",
    "2.1",
    ...deselected,
  ];
  const env = {
    ...process.env,
    PATH: `${bin}${delimiter}${process.env.PATH}`,
    KSERVING_LOG_LEVEL: "warn",
  };
  const { status, stdout } = spawnSync(python, args, { cwd: copy, env, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  const lines = stdout.trimEnd().split("\n");
  for (const line of lines.filter((text) => /^(?:FAILED|ERROR)/.test(text))) console.log(line);
  console.log(`${file}: ${lines.at(-1)}`);
  return status === 0;
}

/** A program that takes the calls of \`docker\` that the tests make. */
function dockerScript(): string {
  return `#!${process.execPath}
const { spawn, spawnSync } = require("node:child_process");
const { existsSync, mkdtempSync, readFileSync, writeFileSync } = require("node:fs");
const [command, ...args] = process.argv.slice(2);
const state = (name) => ${JSON.stringify(folder)} + "/" + name;
const after = (flag) => args.flatMap((word, index) => (args[index - 1] === flag ? [word] : []));
if (command === "volume" && args[0] === "create") {
  writeFileSync(state("volume-" + after("--name")[0]), after("--opt").find((text) => text.startsWith("device=")).slice(7));
} else if (command === "rm") {
  const pid = Number(readFileSync(state("pid"), "utf8"));
  try { process.kill(pid, "SIGKILL"); } catch {}
} else if (command === "run") {
  const [, volume] = /source=([^,]+)/.exec(after("--mount")[0]);
  const env = { ...process.env, SM_MODEL_DIR: readFileSync(state("volume-" + volume), "utf8"), VIRTUAL_ENV: freshPython() };
  if (existsSync(env.SM_MODEL_DIR + "/code/requirements.txt")) env.KSERVING_OPTION = "requirements=true";
  for (const text of after("-e")) env[text.slice(0, text.indexOf("="))] = text.slice(text.indexOf("=") + 1);
  const child = spawn(process.execPath, [${JSON.stringify(resolve("bin/kserving.cjs"))}, args.at(-1)], { env, stdio: "inherit" });
  writeFileSync(state("pid"), String(child.pid));
  child.on("exit", (code) => process.exit(code ?? 1));
}

/** An environment with the packages of the tests' Python, into which a container may install others. */
function freshPython() {
  const parent = ${JSON.stringify(python)};
  const print = (python) => spawnSync(python, ["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], { encoding: "utf8" }).stdout;
  const fresh = mkdtempSync(state("python-"));
  spawnSync(parent, ["-m", "venv", "--without-pip", fresh]);
  writeFileSync(print(fresh + "/bin/python").trim() + "/parent.pth", print(parent));
  return fresh;
}
`;
}
