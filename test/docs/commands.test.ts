import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { makeDemoModels } from "../../scripts/make-demo-models.ts";
import { foreignCommand, isCommand } from "../../src/cli/command-names.ts";
import { toModelSources } from "../../src/cli/commands/model-sources.ts";
import { startServer, wantedOptions } from "../../src/cli/commands/serve-command.ts";
import { readServeSettings } from "../../src/cli/settings/read-serve-settings.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { createServer, type Server } from "../../src/server/server.ts";
import { runCommand } from "../cli/commands/run-command.ts";
import { encodeModel } from "../fixtures/make/onnx-writer.ts";
import { findPython } from "../helpers/find-python.ts";
import { shareServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { tableOf, toyEncoder, toyTokenizer } from "../helpers/text-model.ts";
import { tlsFile } from "../helpers/tls-fixture.ts";
import { checkProgram, FOREIGN, ownWords } from "./check-command.ts";
import { commandsOf, type DocCommand, documents, programsOf, spansOf } from "./doc-commands.ts";

/** Programs that other tests run, with those tests: they take long, ask at a terminal, or install. */
const RUN_BY: Readonly<Record<string, string>> = {
  "kserving bench": "test/cli/commands/bench-command.test.ts",
  "kserving tune": "test/cli/commands/tune-command.test.ts",
  "kserving compare": "test/cli/commands/compare-command.test.ts",
  "kserving doctor": "test/cli/commands/doctor-command.test.ts",
  "kserving export": "test/cli/commands/export-command.test.ts",
  "kserving runtimes": "test/cli/commands/runtimes-command.test.ts",
  "kserving hash-password": "test/cli/commands/hash-command.test.ts",
  "kserving hash-token": "test/cli/commands/hash-command.test.ts",
  "npx @bufbuild/buf": "test/protocols/kserve/kserve-doc.test.ts",
  "npm install @grpc/grpc-js": "scripts/check-packages.ts",
  "npm run gen": "scripts/check.ts",
};
/** Pages whose commands a test of their own runs, with the files that they need. */
const PAGES_RUN_BY: Readonly<Record<string, string>> = {
  "README.md": "test/readme.test.ts",
  "docs/quickstarts.md": "test/quickstarts.long.test.ts",
  "packages/create/README.md": "scripts/check-packages.ts",
};

const pages = documents();
await makeDemoModels();
const all = pages.flatMap(commandsOf);
const PROGRAM = resolve("bin/kserving.cjs");
const half = resolve("test/fixtures/models/half-plus-two.onnx");
const silent = createSilentLogger();
const PASS = "export const preprocess = (inputs) => inputs;\n";
const ANY = "export const process = (inputs) => inputs;\n";
const LETTERS = `export const inputs = [{ name: "text", dtype: "bytes" }];
export async function* process({ text }) { yield { letter: text }; }
`;
const IRIS = `export const inputs = [{ name: "input", dtype: "float32", shape: [-1, 4] }];\n${PASS}`;

/** The server that a page finds at the usual ports if it starts no server itself. */
const neighbour = shareServer(() => ({
  models: {
    default: { stages: [{ driver: "null" }] },
    emotion: { path: resolve(".cache/demo/emotion.onnx"), options: { color_format: "GRAY" } },
    faces: { path: half },
    letters: { stages: [{ driver: "null" }], hooks: join(files(), "letters.ts") },
    iris: { stages: [{ driver: "null" }], hooks: join(files(), "iris.ts") },
  },
}));

/** The first block of TypeScript, or of Python, of a page, or the first that has some text. */
function codeOf(page: string, language: string, text = ""): string {
  const blocks = readFileSync(page, "utf8").matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"));
  return [...blocks].find(([, code = ""]) => code.includes(text))?.[1] ?? "";
}

/** A model that makes a mask of one channel, 0 to 1, of an image. */
function segmentation(): Uint8Array {
  const shape = [1, 3, 8, 8];
  const value = (name: string, sizes: readonly number[]) => ({
    name,
    type: { elemType: "float32", shape: [...sizes] } as const,
  });
  return encodeModel({
    opset: 13,
    graph: {
      name: "segment",
      inputs: [value("image", shape)],
      outputs: [value("mask", [8, 8])],
      initializers: [{ name: "most", dtype: "float32", shape: [1], data: Float32Array.of(255) }],
      nodes: [
        { op: "Div", inputs: ["image", "most"], outputs: ["share"] },
        { op: "ReduceMax", inputs: ["share"], outputs: ["mask"], attributes: { axes: [0, 1], keepdims: 0 } },
      ],
    },
  });
}

/** A folder with what the commands of the documents name. */
function files(): string {
  const code = {
    hooks: `export const inputs = [{ name: "x", dtype: "float32" }];\n${PASS}`,
    my: PASS,
    faces: ANY,
    letters: LETTERS,
    iris: IRIS,
  };
  const folder = tempFolder({
    ...Object.fromEntries(Object.entries(code).map(([name, text]) => [`${name}.ts`, text])),
    "mood.ts": codeOf("docs/hooks.md", "ts").replaceAll("pixels", "x"),
    "talk.ts": codeOf("docs/openai.md", "ts"),
    "my-driver.ts": codeOf("docs/drivers/own-drivers.md", "ts"),
    "hooks.py": codeOf("docs/python-hooks.md", "python"),
    "talk.py": codeOf("docs/python-hooks.md", "python", "def chat"),
    ...{ "server.pem": tlsFile("server.pem"), "server.key": tlsFile("server.key"), "ca.pem": tlsFile("ca.pem") },
    "segment.onnx": segmentation(),
    "users.txt": "",
    "emotions.txt": "angry\ndisgust\nfear\nhappy\nsad\nsurprise\nneutral\n",
    "all-MiniLM-L6-v2/onnx/model.onnx": toyEncoder({ table: tableOf({ good: [1, 0], bad: [0, 1] }) }),
    "all-MiniLM-L6-v2/config.json": JSON.stringify({ architectures: ["BertModel"], model_type: "bert" }),
    ...Object.fromEntries(Object.entries(toyTokenizer()).map(([name, text]) => [`all-MiniLM-L6-v2/${name}`, text])),
  });
  copy("test/fixtures/models/any-rank.onnx", join(folder, "model.onnx"));
  for (const name of ["half-plus-two", "half", "mood", "untrusted", "models/resnet/1/model", "models/own"])
    copy(half, join(folder, `${name}.onnx`));
  for (const name of ["models/emotion/1/model", "models/found"]) copy(half, join(folder, `${name}.onnx`));
  for (const name of ["emotion", "emotion-int8"]) copy(".cache/demo/emotion.onnx", join(folder, `${name}.onnx`));
  copy(".cache/demo/blazeface.onnx", join(folder, "face.onnx"));
  for (const name of ["face.jpg", "photo.jpg", "street.png"]) copy("examples/photos/portrait.jpg", join(folder, name));
  copy("test/fixtures/models/any-rank.onnx", join(folder, "models/mine/1/model.onnx"));
  for (const name of ["saved_model", "churn", "half_plus_two/1"])
    cpSync("test/fixtures/tensorflow/half_plus_two", join(folder, name), { recursive: true });
  for (const name of ["test", "examples", ".cache"]) symlinkSync(resolve(name), join(folder, name));
  return folder;
}

function copy(from: string, to: string): void {
  mkdirSync(resolve(to, ".."), { recursive: true });
  cpSync(from, to);
}

/** Goes to a folder until the test ends. */
function enter(folder: string): void {
  const before = process.cwd();
  process.chdir(folder);
  onTestFinished(() => process.chdir(before));
}

/** A server with the ports that a command line means for it. */
interface Served {
  readonly server: Server;
  readonly ports: Readonly<Record<number, string | undefined>>;
}

/** Serves a command line here, as `kserving serve` does, on free ports. */
async function serve(words: readonly string[]): Promise<Served> {
  const [first = "", ...rest] = words;
  const foreign = foreignCommand(first);
  const read = foreign && (await FOREIGN[foreign]?.read(rest, {}));
  if (typeof read === "number") throw new Error(`${first} ended with ${read}`);
  const commandLine = await readServeSettings(foreign ? [] : first === "serve" ? rest : words, {}, read);
  const { settings } = commandLine;
  const sources = toModelSources(commandLine);
  const { admin, http, ...wanted } = await wantedOptions(commandLine, sources);
  const options = { ...wanted, ...(http && { http: {} }), ...(admin && { admin: {} }), host: "127.0.0.1", port: 0 };
  const { server } = await startServer({ options, sources, settings, log: silent });
  const address = (url: string | undefined) => url && new URL(url).host;
  return { server, ports: { [settings.port]: server.grpcAddress, [settings.httpPort]: address(server.httpUrl) } };
}

function atPorts(text: string, ports: Served["ports"]): string {
  return text.replaceAll(/(localhost|127\.0\.0\.1):(\d{4})/g, (address, host: string, port: string) => {
    return ports[Number(port)]?.replace("127.0.0.1", host) ?? address;
  });
}

/** True for a command that starts a server of ours. */
function isServe(words: readonly string[]): boolean {
  return !isCommand(words[0]);
}

/** True for what another test runs. */
function isRunElsewhere(words: readonly string[]): boolean {
  return [2, 3].some((count) => words.slice(0, count).join(" ") in RUN_BY);
}

/** Runs a page's commands in their order. */
async function runPage(page: string): Promise<void> {
  const commands = commandsOf(page).filter(({ notRun }) => notRun === undefined);
  const { grpcAddress, httpUrl } = await neighbour();
  const usual = { 9000: grpcAddress, 9001: new URL(httpUrl).host };
  const folder = files();
  enter(folder);
  let served: Served | undefined;
  onTestFinished(async () => void (await served?.server.close()));
  for (const command of commands) {
    const programs = programsOf(command.text);
    if (programs.some(isRunElsewhere)) continue;
    const own = programs.length === 1 ? ownWords(programs[0] as readonly string[]) : undefined;
    if (own !== undefined && isServe(own)) {
      await served?.server.close();
      served = await serve(own);
      continue;
    }
    const ports = served?.ports ?? usual;
    await (own === undefined ? runShell(command, ports, folder) : runOwn(command, own, ports));
  }
}

async function runOwn({ place }: DocCommand, words: readonly string[], ports: Served["ports"]): Promise<void> {
  const { code, stderr } = await runCommand(words.map((word) => atPorts(word, ports)));
  if (code !== 0) throw new Error(`${place} ended with ${code}: ${stderr}`);
}

/** Runs what is not ours alone by a shell, which knows ours by its name. */
async function runShell({ place, text }: DocCommand, ports: Served["ports"], home: string): Promise<void> {
  const program = `kserving() { "${process.execPath}" "${PROGRAM}" "$@"; }`;
  // An error is what that page shows.
  const flags = place.startsWith("docs/errors.md") ? "-sS" : "-sS --fail-with-body";
  const script = atPorts(text, ports).replaceAll(/\bcurl /g, `curl ${flags} `);
  const run = promisify(execFile)("bash", ["-ec", `set -o pipefail\n${program}\n${script}`], {
    cwd: home,
    env: { ...process.env, HOME: home },
  });
  await run.catch(({ message, stdout }) => {
    throw new Error(`${place}: ${message}${stdout}`);
  });
}

test("there are commands in the documents", () => {
  expect(all.length).toBeGreaterThan(200);
  const marked = all.filter(({ notRun }) => notRun !== undefined);
  expect(marked.length).toBeLessThan(all.length / 2);
});

test("the arguments of every command of the documents are taken", async () => {
  enter(files());
  const wrong: string[] = [];
  for (const { place, text } of all)
    for (const words of programsOf(text.replaceAll("$PWD", process.cwd())))
      await checkProgram(words).catch(({ message }) => wrong.push(`${place}: ${message}`));
  expect(wrong).toEqual([]);
});

test("a command within a sentence names commands and flags that there are, whatever it leaves out", async () => {
  const spans = pages.flatMap((page) => spansOf(page).map((span) => [page, span] as const));
  const wrong: string[] = [];
  for (const [page, span] of spans)
    for (const words of programsOf(span))
      await checkProgram(words).catch(({ message }) => {
        if (/no flag|no \w+ \w+$|unknown option|There is no command "[a-z]/.test(message))
          wrong.push(`${page}: ${span}: ${message}`);
      });
  expect(spans.length).toBeGreaterThan(100);
  expect(wrong).toEqual([]);
});

test("every address that the documents give to curl is one of this server", async () => {
  const { httpUrl } = await neighbour();
  const lost: string[] = [];
  for (const { place, text } of all.filter((command) => !(command.page in PAGES_RUN_BY))) {
    for (const words of programsOf(text).filter(([program]) => program === "curl")) {
      const url = words.find((word) => /^(?:https?:\/\/)?(?:localhost|127\.0\.0\.1):\d+/.test(word)) as string;
      const { pathname, search } = new URL(url.replace(/^(?:https?:\/\/)?[^/]+/, httpUrl));
      const method = words.some((word) => /^(?:-d|-F|--data)/.test(word)) ? "POST" : "GET";
      const answer = await fetch(httpUrl + pathname + search, { method, ...(method === "POST" && { body: "{}" }) });
      if (/There is no \S+ \S+ here/.test(await answer.text())) lost.push(`${place}: ${method} ${pathname}`);
    }
  }
  expect(lost).toEqual([]);
});

describe("commands that run", () => {
  const runnable = pages.filter((page) => !(page in PAGES_RUN_BY) && commandsOf(page).some(({ notRun }) => !notRun));
  const withPython = (page: string) => page !== "docs/python-hooks.md" || findPython(page, ["numpy"]) !== undefined;
  test.each(runnable.filter(withPython))("the commands of %s run", async (page) => {
    await runPage(page);
  });
});

test("docs/errors.md shows what its commands are answered", async () => {
  const shown = [...readFileSync("docs/errors.md", "utf8").matchAll(/```json\n([\s\S]*?)```/g)];
  const commands = commandsOf("docs/errors.md");
  const only = await createServer({ stages: [{ driver: "null" }], http: {} });
  onTestFinished(() => only.close());
  const servers = [only, await neighbour()];
  expect(commands).toHaveLength(servers.length);
  for (const [index, { text }] of commands.entries()) {
    const command = atPorts(text, { 9001: new URL(`${servers[index]?.httpUrl}`).host });
    const { stdout } = await promisify(execFile)("sh", ["-c", `${command} -sS`]);
    expect(JSON.parse(stdout)).toEqual(JSON.parse(shown[index]?.[1] as string));
  }
});

test("the tests that run other commands are there", () => {
  for (const [command, file] of Object.entries({ ...RUN_BY, ...PAGES_RUN_BY })) {
    expect(existsSync(file)).toBe(true);
    const word = command
      .replace(/^packages\/(.+)\/README\.md$/, "$1-kserving")
      .split(/[ /]/)
      .at(-1) as string;
    expect(readFileSync(file, "utf8")).toContain(word);
  }
});
