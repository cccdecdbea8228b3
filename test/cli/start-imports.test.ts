import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const require = createRequire(import.meta.url);

/** Packages and folders that most servers never need: each would cost every start. */
const LATER = [
  "yaml",
  "jose",
  "sharp",
  "koffi",
  "busboy",
  "esbuild",
  "src/storage/s3/",
  "src/access/authentication/passwords.ts",
];

test("the start imports nothing that only some servers need", async () => {
  const entryPoints = [
    "src/cli/main.ts",
    "src/cli/commands/serve-command.ts",
    "src/server/server.ts",
    "src/server/protocols.ts",
    "src/grpc/grpc-server.ts",
    "src/proxy/http-server.ts",
  ];
  const { metafile } = await build({
    entryPoints,
    outdir: "unused",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    packages: "external",
    write: false,
    metafile: true,
    logLevel: "silent",
  });
  const imported = new Set<string>();
  const visit = (file: string) => {
    if (imported.has(file)) return;
    imported.add(file);
    for (const { path, kind, external } of metafile.inputs[file]?.imports ?? [])
      if (kind === "import-statement") external === true ? imported.add(path) : visit(path);
  };
  for (const entry of entryPoints) visit(entry);
  expect(imported.size).toBeGreaterThan(500);
  expect(LATER.filter((name) => [...imported].some((file) => file === name || file.startsWith(name)))).toEqual([]);
});

test("the page, and what it asks for, are answered without Express", async () => {
  const { httpUrl } = await startServer({ models: { "a b": { path: "test/fixtures/models/half-plus-two.onnx" } } });
  const of = "models/a%20b/versions/1";
  const paths = ["", "/page.js", "/models", `/${of}/example`, `/${of}/stages/1/graph`, "/history", "/log?after=1"];
  const statuses = paths.map(async (path) => (await fetch(`${httpUrl}/ui${path}`)).status);
  expect(await Promise.all(statuses)).toEqual(paths.map(() => 200));
  const browsers = await fetch(httpUrl, { headers: { accept: "text/html" }, method: "HEAD" });
  expect([browsers.status, browsers.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  const loaded = () => Object.keys(require.cache).some((file) => file.includes("/node_modules/express/"));
  expect(loaded()).toBe(false);
  expect((await fetch(`${httpUrl}/ui/models/%zz/versions/1/example`)).status).toBe(400);
  expect((await fetch(`${httpUrl}/ui/models`, { method: "POST" })).status).toBe(405);
  expect(loaded()).toBe(true);
});

/**
 * Writes down, as soon as the server is ready, what its main thread has loaded, and whether V8 has the flags that
 * Node's modules were compiled with.
 */
const AT_READY = `
const { cachedDataVersionTag, takeCoverage } = require("node:v8");
const { isMainThread } = require("node:worker_threads");
const flags = cachedDataVersionTag();
const { write } = process.stdout;
if (isMainThread) process.stdout.write = function (text, ...rest) {
  if (text.includes('"msg":"ready"')) {
    takeCoverage();
    text += JSON.stringify({ msg: "flags", areSame: cachedDataVersionTag() === flags }) + "\\n";
  }
  return write.call(this, text, ...rest);
};`;

interface Loaded {
  /** Number of files in dist. */
  readonly files: number;
  readonly packages: readonly string[];
}

/**
 * The code of a start of the program: of its main thread until it is ready, and of the model's thread until it ends.
 */
async function loadedAtReady(): Promise<{ main: Loaded; model: Loaded; areFlagsSame: unknown }> {
  const [preload, coverage] = [join(tempFolder({ "at-ready.cjs": AT_READY }), "at-ready.cjs"), tempFolder()];
  const program = fileURLToPath(new URL("../../bin/kserving.cjs", import.meta.url));
  const flags = ["--host=127.0.0.1", "--port=0", "--http-enable", "--http-port=0", "--shutdown-delay=0"];
  const child = spawn(
    process.execPath,
    ["--require", preload, program, ...flags, "--model-path=test/fixtures/models/half-plus-two.onnx"],
    {
      env: { ...process.env, KSERVING_SUPERVISOR: "false", NODE_V8_COVERAGE: coverage },
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const events = [];
  for await (const line of createInterface({ input: child.stdout })) {
    events.push(JSON.parse(line));
    if (events.at(-1).msg === "flags") child.kill("SIGINT");
  }
  if (child.exitCode === null) await once(child, "exit");
  // coverage-PID-TIME-THREAD.json; the main thread has a second one, of its end.
  const files = readdirSync(coverage).sort();
  const [main, model] = [/-0\.json$/, /-1\.json$/].map((ofThread) => files.find((name) => ofThread.test(name)));
  const areFlagsSame = events.find(({ msg }) => msg === "flags")?.areSame;
  return { main: readLoaded(join(coverage, main!)), model: readLoaded(join(coverage, model!)), areFlagsSame };
}

function readLoaded(file: string): Loaded {
  const { result } = JSON.parse(readFileSync(file, "utf8")) as { result: { url: string }[] };
  const urls = result.map(({ url }) => url);
  const packages = urls.flatMap((url) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []);
  return { files: urls.filter((url) => url.includes("/dist/")).length, packages: [...new Set(packages)].sort() };
}

test("a started server has loaded the command line, the log, few files, and Node's own modules as they were compiled", async () => {
  const { main, model, areFlagsSame } = await loadedAtReady();
  const ofLog = [
    "@pinojs/redact",
    "atomic-sleep",
    "on-exit-leak-free",
    "pino",
    "pino-std-serializers",
    "quick-format-unescaped",
  ];
  const packagesOf = ({ packages }: Loaded) => packages.filter((name) => !name.startsWith("@koromix/"));
  const ofMain = [...ofLog, "safe-stable-stringify", "sonic-boom", "thread-stream", "commander", "koffi"];
  expect(packagesOf(main)).toEqual(ofMain.sort());
  expect(packagesOf(model)).toEqual(["koffi"]);
  // A file of their own for every module that several parts share would be hundreds.
  expect(main.files).toBeLessThanOrEqual(50);
  expect(model.files).toBeLessThanOrEqual(25);
  expect(areFlagsSame).toBe(true);
});

/** A file of dist with all that it imports before it runs. */
function importedBy(file: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(file)) return found;
  found.add(file);
  for (const [, path = ""] of readFileSync(file, "utf8").matchAll(/^(?:import|export) .*"(\.[^"]+)";$/gm))
    importedBy(join(dirname(file), path), found);
  return found;
}

test.each(["python-process", "start-python-hooks", "load-python-model", "model-process", "remote-pool"])(
  "a thread that needs %s does not load the server with it",
  (name) => {
    const ofPart = new RegExp(`^${name}-[\\w-]{8}\\.js$`);
    const files = readdirSync("dist/chunks").filter((file) => ofPart.test(file));
    expect(files).not.toEqual([]);
    const imported = files.flatMap((file) => [...importedBy(join("dist/chunks", file))]);
    expect(imported.length).toBeGreaterThan(5);
    expect(imported.filter((file) => /^dist\/chunks\/serve-[\w-]{8}\.js$/.test(file))).toEqual([]);
  },
);
