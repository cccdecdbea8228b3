import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { text as readText } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { findPython } from "./helpers/find-python.ts";
import { freePort } from "./helpers/free-port.ts";
import { tempFolder } from "./helpers/temp-folder.ts";

/** A section of the page: files to save, the command that starts the server, a request and its answer. */
interface Quickstart {
  readonly files: Readonly<Record<string, string>>;
  readonly command: string;
  readonly request: string;
  readonly answer: unknown;
}

const SECTIONS = readFileSync("docs/quickstarts.md", "utf8")
  .split(/^## /m)
  .slice(1)
  .map((section) => [section.split("\n", 1)[0] as string, readSection(section)] as const);

const CONFIG = `platform: "onnxruntime_onnx"
input [{ name: "x", data_type: TYPE_FP32, dims: [-1] }]
output [{ name: "y", data_type: TYPE_FP32, dims: [-1] }]
`;

function readSection(section: string): Quickstart {
  const blocks = [...section.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)];
  const plain = blocks.filter(([, language]) => language === "").map(([, , text]) => text as string);
  const last = (start: string) => plain.findLast((text) => text.startsWith(start)) as string;
  const saved = blocks.map(([, , text = ""]) => [/^(?:\/\/|#) (\S+\.(?:ts|py))\n/.exec(text)?.[1], text] as const);
  return {
    files: Object.fromEntries(saved.flatMap(([name, text]) => (name === undefined ? [] : [[name, text]]))),
    command: last("kserving "),
    request: last("curl "),
    answer: JSON.parse(blocks.find(([, language]) => language === "json")?.[2] as string),
  };
}

test.each(SECTIONS)("%s: the new command answers the old request", async (_, { files, command, request, answer }) => {
  const folder = folderWith(files);
  const ports = new Map<string, string>();
  for (const [port] of `${command} ${request}`.matchAll(/\b\d{4}\b/g)) ports.set(port, `${await freePort()}`);
  const onPorts = (line: string) => line.replace(/\b\d{4}\b/g, (port) => ports.get(port) as string);
  const python = files["hook.py"] && ` -o python=${findPython("A hook file in Python", ["numpy"])}`;
  const http = ports.get("9001");
  const flags = http === undefined ? "" : ` --http-port ${http} --port ${await freePort()}`;
  const ended = start(folder, onPorts(command).trim() + (python ?? "") + flags);
  const { origin } = new URL(/http:\S+/.exec(onPorts(request))?.[0] as string);
  await Promise.race([expect.poll(() => isReady(origin), { timeout: 50_000 }).toBe(true), ended]);
  const text = execFileSync("sh", ["-c", `${onPorts(request).trim()} --silent --show-error`], { encoding: "utf8" });
  expect(JSON.parse(text)).toEqual(answer);
});

test("the page has a section for each server that people come from", () => {
  const names = ["Triton", "OpenVINO Model Server", "TensorFlow Serving", "LitServe", "BentoML", "Kibernetika"];
  expect(SECTIONS.map(([title]) => title)).toEqual(names.map((name) => `From ${name}`));
});

/** A folder with the files and with all models of the page. */
function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = tempFolder({ ...files, "models/half/config.pbtxt": CONFIG });
  const model = resolve("test/fixtures/models/half-plus-two.onnx");
  mkdirSync(join(folder, "models/half/1"));
  cpSync(model, join(folder, "models/half/1/model.onnx"));
  cpSync(model, join(folder, "half-plus-two.onnx"));
  cpSync("test/fixtures/tensorflow/half_plus_two", join(folder, "half_plus_two/1"), { recursive: true });
  return folder;
}

/** Starts the command; rejects with what it printed when it ends before the test. */
function start(cwd: string, command: string): Promise<never> {
  const program = `exec "${process.execPath}" "${resolve("bin/kserving.cjs")}"`;
  const env = { ...process.env, KSERVING_HOST: "127.0.0.1", KSERVING_SHUTDOWN_DELAY: "0" };
  const child = spawn("sh", ["-c", command.replace(/^kserving/, program)], {
    cwd,
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(() => void child.kill());
  return readText(child.stderr).then((errors) => Promise.reject(new Error(`ended: ${errors}`)));
}

function isReady(origin: string): Promise<boolean> {
  return fetch(`${origin}/v2/health/ready`).then(
    ({ ok }) => ok,
    () => false,
  );
}
