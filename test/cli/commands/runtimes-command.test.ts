import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { makeWheel } from "../../storage/runtimes/make-wheel.ts";
import { startIndex } from "../../storage/runtimes/start-index.ts";
import { runKserving, startKserving } from "../start-kserving.ts";
import { runCommand } from "./run-command.ts";

/** A wheel of the version that is installed by default; its libraries are none. */
const WHEEL = makeWheel(
  { "openvino/libs/libopenvino_c.so.2641": "no library", "openvino/libs/libopenvino.so.2641": "no library" },
  { project: "openvino", version: "2026.4.1" },
);

const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}) => runKserving(["runtimes", ...args], env);

function expectOneLine(stderr: string, message: string): void {
  expect(stderr).toMatch(/^kserving: [^\n]+\n$/);
  expect(stderr).toContain(message);
}

test.each([
  [[], "A command is missing; expected list, install NAME or remove NAME."],
  [["instal"], "unknown command 'instal' (Did you mean install?); kserving runtimes --help lists the commands."],
  [["install"], "The argument name is missing; kserving runtimes install --help lists its arguments."],
  [["install", "opnvino"], 'There is no runtime "opnvino". Did you mean "openvino"?'],
  [["install", "openvino", "--wheel", "a", "--jar", "b"], "--wheel and --jar exclude each other; give one of them."],
  [["install", "tensorflow", "--from", "npm", "--dir", "d"], "--from npm and --dir exclude each other"],
  [["install", "openvino", "--device", "cuda"], "--device is for onnx alone; leave it out."],
  [["install", "onnx", "--device", "tpu"], "Expected one of cpu, cuda;"],
  [["install", "openvino", "--from", "npm"], "No npm package carries OpenVINO; leave out --from."],
  [["install", "openvino", "--version", "../1"], 'The version is "../1"; expected one such as 2.21.0.'],
  [["install", "pytorch", "--wheel", "a.whl"], "--wheel is not for PyTorch, which pip installs with what it needs"],
  [["install", "onnx", "--from", "npm"], "--from is not for ONNX Runtime, which npm downloads from its registry"],
  [
    ["install", "onnx", "--path", ".", "--version", "1.0.0"],
    "--path and --version exclude each other; give one of them.",
  ],
  [["list", "openvino"], "too many arguments"],
])("kserving runtimes %j is a usage error", async (args, message) => {
  const { code, stderr } = await runCommand(["runtimes", ...args]);
  expectOneLine(stderr, message);
  expect(code).toBe(2);
});

test("installs from the index, reports a library that does not load, finds it the second time, and removes it", async () => {
  const { url, asked } = await startIndex({ project: "openvino", files: { [WHEEL.name]: WHEEL.bytes } });
  const root = tempFolder();
  const env = { PIP_INDEX_URL: url, KSERVING_RUNTIMES_DIR: root };
  const home = join(root, "openvino", "2026.4.1");

  const first = await run(["install", "openvino"], env);
  expect(first.stdout).toBe(`OpenVINO 2026.4.1 is installed: ${home}\n`);
  expect(first.stderr).toMatch(
    /^Downloading openvino-2026.4.1-\S+ from 127.0.0.1:\d+\nUnpacking the libraries of OpenVINO\nkserving: OpenVINO is in place but does not load here: [^\n]+\n$/,
  );
  expect(first.code).toBe(1);

  const second = await run(["install", "openvino"], env);
  expect(second.stdout).toBe(`OpenVINO 2026.4.1 was installed before (--force installs it again): ${home}\n`);
  expect(asked).toHaveLength(2);

  const removed = await run(["remove", "openvino"], env);
  expect(removed).toMatchObject({ code: 0, stdout: "OpenVINO 2026.4.1 is removed.\n" });
  expect(await readdir(join(root, "openvino"))).toEqual([]);
});

test("an environment with PyTorch is found the second time, and removed", async () => {
  const root = tempFolder({ "pytorch/2.2.0+cpu/runtime.json": '{"source":"pip","files":{}}' });
  const env = { KSERVING_RUNTIMES_DIR: root };
  const { code, stdout } = await run(["install", "pytorch"], env);
  const home = join(root, "pytorch", "2.2.0+cpu");
  expect(stdout).toMatch(`PyTorch 2.2.0+cpu was installed before (--force installs it again): ${home}\n`);
  expect(code).toBe(0);
  const removed = await run(["remove", "pytorch"], env);
  expect(removed).toMatchObject({ code: 0, stdout: "PyTorch 2.2.0+cpu is removed.\n" });
  expect(await readdir(join(root, "pytorch"))).toEqual([]);
});

test("into another folder, says how drivers find it", async () => {
  const { url } = await startIndex({ project: "openvino", files: { [WHEEL.name]: WHEEL.bytes } });
  const dir = tempFolder();
  const { stdout } = await run(["install", "openvino", "--dir", dir], { PIP_INDEX_URL: url });
  expect(stdout).toContain(`Drivers find it with KSERVING_RUNTIMES_DIR=${dir}\n`);
});

test("a signal in the middle of a download ends the program by that signal and leaves nothing", async () => {
  let onStarted = () => {};
  const started = new Promise<void>((resolve) => {
    onStarted = resolve;
  });
  const { url } = await startIndex({
    project: "openvino",
    files: { [WHEEL.name]: WHEEL.bytes },
    serveFile: (response, bytes) => {
      response.writeHead(200, { "content-length": bytes.length });
      response.write(bytes.subarray(0, 100), () => onStarted());
    },
  });
  const root = tempFolder();
  const env = { PIP_INDEX_URL: url, KSERVING_RUNTIMES_DIR: root };
  const program = startKserving(["runtimes", "install", "openvino"], env);
  await started;
  program.kill("SIGINT");
  const { signal, stderr } = await program.ended();
  expect(signal).toBe("SIGINT");
  expect(stderr).toContain("kserving: interrupted; nothing was installed.\n");
  expect(await readdir(join(root, "openvino"))).toEqual([]);
});

test("lists what is there as JSON and as a table", async () => {
  const env = { KSERVING_RUNTIMES_DIR: tempFolder() };
  const [json, table] = await Promise.all([run(["list", "--json"], env), run(["list"], env)]);
  const reports = JSON.parse(json.stdout) as { name: string; found: { version?: string }[] }[];
  expect(reports.map(({ name }) => name)).toEqual([
    "tensorflow",
    "openvino",
    "onnx",
    "python",
    "pytorch",
    "sklearn",
    "xgboost",
    "lightgbm",
    "catboost",
    "mlflow",
    "statsmodels",
    "pmml",
    "h2o",
    "paddle",
    "mxnet",
    "transformers",
    "spacy",
  ]);
  const version = reports.find(({ name }) => name === "onnx")?.found[0]?.version;
  expect(table.stdout).toMatch(new RegExp(`^\\*  onnx +${version} +cpu`, "m"));
  expect([json.code, table.code]).toEqual([0, 0]);
});
