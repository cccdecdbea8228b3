import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { THREADED } from "../../src/cli/main.ts";
import { DRIVER_NAMES, findDriver } from "../../src/drivers/registry.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { runCommand } from "./commands/run-command.ts";
import { runKserving, startKserving, writeTestFile } from "./start-kserving.ts";

const NULL = ["--driver", "null", "--port", "0"];
const model = (name: string) => new URL(`../fixtures/models/${name}`, import.meta.url).pathname;

/** Exactly one line, with the program's name before it and no stack behind it. */
function oneLine(stderr: string): string {
  expect(stderr).toMatch(/^kserving: [^\n]+\n$/);
  return stderr.slice("kserving: ".length).trim();
}

describe("a usage error ends with 2 and one line", () => {
  test.each([
    [["--drvier", "null"], "unknown option '--drvier' (Did you mean --driver?); kserving --help lists the flags."],
    [["prxy"], 'There is no command "prxy". Did you mean "proxy"? Expected one of serve, proxy, inspect, infer,'],
    [["help", "prxy"], 'There is no command "prxy". Did you mean "proxy"?'],
    [
      ["run", "model.onnx"],
      'There is no command "run". kserving MODEL serves a model, kserving infer MODEL runs it once.',
    ],
    [["toString"], 'There is no command "toString". Expected one of'],
    [["models"], "a model is the path of a file or folder."],
    [["proxy", "serve"], 'kserving proxy takes flags alone, not "serve"; kserving proxy --help lists them.'],
    [
      ["proxy", "--port", "1"],
      "--port is a flag of kserving serve, not of kserving proxy; kserving proxy --help lists the flags.",
    ],
    [
      [],
      "No model is given; expected its path, such as kserving model.onnx, a hook file, a folder of models, or --config FILE.",
    ],
    [
      [...NULL, "--http-server-command", "front 'a"],
      `--http-server-command is "front 'a"; expected a program with its arguments, every quote closed.`,
    ],

    [
      [...NULL, "--access-log", "--log-level", "warn"],
      "--access-log writes at level info, which --log-level warn leaves",
    ],
    [[...NULL, "-o", "device"], '-o is "device"; expected [STAGE:]KEY=VALUE'],
    [[...NULL, "-o", "2:a=b"], '-o is "2:a=b", but there is 1 stage'],
    [[...NULL, "-o", "a=b"], 'No driver has the option "a".'],
    [[...NULL, "-o", "__proto__=1"], 'No driver has the option "__proto__".'],
    [["--version-encoding", "int32"], "--version-encoding is a flag of kserving proxy, not of kserving serve;"],
    [["--port", "0", "--model-path", "x.onnx", "-o", "ep=cuda"], '"ep" stands before a name: -o ep.NAME=VALUE.'],
    [["serve", "serve"], 'Unexpected argument "serve"; a command comes first (serve, proxy'],
    [["--port", "0", "--model-path", "x.onnx", "-o", "intra_op_thread=2"], 'Did you mean "intra_op_threads"?'],
  ])("kserving %j", async (args, message) => {
    const { code, stderr } = await runCommand(args);
    expect(oneLine(stderr)).toContain(message);
    expect(code).toBe(2);
  });
});

describe("what cannot be had ends with 1 and one line", () => {
  test("a model path that does not exist", async () => {
    const { code, stderr } = await runCommand(["--port", "0", "--model-path", "nowhere.onnx"]);
    expect(oneLine(stderr)).toContain("nowhere.onnx");
    expect(code).toBe(1);
  });

  test("a model file that is none", async () => {
    const { code, stderr } = await runCommand(["--port", "0", "--model-path", model("not-a-model.onnx")]);
    expect(oneLine(stderr)).toContain("not-a-model.onnx");
    expect(code).toBe(1);
  });

  test("a folder with nothing in it", async () => {
    const { code, stderr } = await runCommand(["--port", "0", "--model-path", tempFolder()]);
    expect(oneLine(stderr)).toMatch(
      /^The folder \S+ is empty; expected a model's file, or a folder with a model in it\.$/,
    );
    expect(code).toBe(1);
  });

  test("a misspelt driver, whether it has a path or not", async () => {
    for (const [name, meant] of [
      ["nul", "null"],
      ["onx", "onnx"],
    ]) {
      const { stderr } = await runCommand(["--driver", String(name)]);
      expect(oneLine(stderr)).toContain(`There is no driver "${name}". Did you mean "${meant}"?`);
    }
  });

  test("a path whose ending no driver knows", async () => {
    const { code, stderr } = await runCommand(["--port", "0", "--model-path", "package.json"]);
    expect(oneLine(stderr)).toContain(
      "No driver recognises package.json by its name. It looks like plain text; expected a model",
    );
    expect(code).toBe(1);
  });

  test("a folder with models that is none itself, by their names", async () => {
    const folder = tempFolder({ "a.onnx": "", "b.xml": "", "notes.txt": "" });
    const { code, stderr } = await runCommand(["--port", "0", "--model-path", folder]);
    expect(oneLine(stderr)).toContain(
      `"${folder}" has several models; expected one, or the path of one. It holds a.onnx, b.xml.`,
    );
    expect(code).toBe(1);
  });

  test("a hook file that throws while it is loaded, by its place", async () => {
    const hooks = await writeTestFile("hooks.ts", '\nthrow new Error("no labels");');
    const { stderr } = await runCommand([...NULL, "--hooks", hooks]);
    expect(oneLine(stderr)).toMatch(/hooks\.ts threw while it was loaded: no labels \(at \S+hooks\.ts:2:7\)$/);
  });

  test("a hook file that imports a package that is not there", async () => {
    const hooks = await writeTestFile("hooks.ts", 'import x from "nope-pkg";\nexport const process = x;');
    const { stderr } = await runCommand([...NULL, "--hooks", hooks]);
    expect(oneLine(stderr)).toMatch(/1:15: Could not resolve "nope-pkg"; install the package .*npm install nope-pkg/);
  });

  test.each([
    ["kserving", "import {\n  ServingError,\n  defineHook,\n}", "defineHook", '3:3: "kserving"', "defineHooks"],
    ["common/sub.cjs", "import { greting as hello }", "hello", '1:10: "common"', "greeting"],
    ["@modern/package", "import { greting }", "greting", '1:10: "@modern/package"', "greeting"],
  ])("a hook file that imports from %s what that does not export, by its place", async (from, line, name, ...texts) => {
    const [place, meant] = texts;
    const folder = tempFolder({
      "hooks.ts": 'import { used } from "./lib/a.ts";\nexport const process = used;',
      "lib/a.ts": `${line} from "${from}";\nexport const used = [${name}];`,
      "node_modules/common/sub.cjs": "exports.greeting = 1;",
      "node_modules/@modern/package/package.json": '{"name":"@modern/package","type":"module","exports":"./a.js"}',
      "node_modules/@modern/package/a.js": "export const greeting = 1;",
    });
    const { code, stderr } = await runCommand([...NULL, "--hooks", join(folder, "hooks.ts")]);
    expect(oneLine(stderr)).toMatch(
      new RegExp(String.raw`lib/a\.ts:${place} exports no "\w+"\. Did you mean "${meant}"\?$`),
    );
    expect(code).toBe(1);
  });

  test("a hook file that imports what a module with names alone exports by default", async () => {
    const hooks = await writeTestFile("hooks.ts", 'import kserving from "kserving";\nexport const process = kserving;');
    const { stderr } = await runCommand([...NULL, "--hooks", hooks]);
    expect(oneLine(stderr)).toMatch(/hooks\.ts:1:\d+: "kserving" exports no "default"\. Name what .* in braces\.$/);
  });

  test("a hook file with a syntax error, by file, line and column", async () => {
    const hooks = await writeTestFile("hooks.ts", "export const preprocess =\n  (inputs) => { return ];\n");
    const { code, stderr } = await runCommand([...NULL, "--hooks", hooks]);
    expect(oneLine(stderr)).toMatch(/hooks\.ts:2:24: Unexpected "\]"$/);
    expect(code).toBe(1);
  });

  test("a hook file with a misspelt hook", async () => {
    const hooks = await writeTestFile("hooks.ts", "export const preproces = (inputs) => inputs;");
    const { code, stderr } = await runCommand([...NULL, "--hooks", hooks]);
    expect(oneLine(stderr)).toMatch(/exports "preproces"\. Did you mean "preprocess"\?$/);
    expect(code).toBe(1);
  });

  test("an init_hook that throws", async () => {
    const hooks = await writeTestFile(
      "hooks.ts",
      'export const init_hook = () => { throw new Error("no\\nlabels"); };',
    );
    const { code, stderr } = await runCommand([...NULL, "--hooks", hooks]);
    expect(oneLine(stderr)).toMatch(/hooks\.ts: init_hook failed: no labels \(at \S+hooks\.ts:1:40\)$/);
    expect(code).toBe(1);
  });

  test("a port in use, before any model is looked at", async () => {
    const port = await takePort();
    const flags = ["--host", "127.0.0.1", "--port", "0", "--http-enable", "--http-port", String(port)];
    const { code, stderr } = await runKserving(["--model-path", "nowhere.onnx", ...flags]);
    expect(oneLine(stderr)).toContain(`127.0.0.1:${port}: the port is in use; choose another with --http-port`);
    expect(code).toBe(1);
  });

  test("a log file that cannot be written", async () => {
    const { code, stderr } = await runKserving([...NULL, "--log-path", "/dev/null/kserving.log"]);
    expect(oneLine(stderr)).toContain("The log file /dev/null/kserving.log cannot be written");
    expect(code).toBe(1);
  });

  test("a folder as log file", async () => {
    const { code, stderr } = await runKserving([...NULL], { LOG_PATH: tempFolder() });
    expect(oneLine(stderr)).toMatch(/^The log file \S+ cannot be written: EISDIR.* Choose another with --log-path\.$/);
    expect(code).toBe(1);
  });
});

test("at log level debug the causes follow, with their stacks", async () => {
  const hooks = await writeTestFile("hooks.ts", 'export const init_hook = () => { throw new Error("no labels"); };');
  for (const level of [["--log-level", "debug"], ["--log-level=trace"]]) {
    const { stderr } = await runKserving([...NULL, "--hooks", hooks, ...level]);
    expect(stderr).toMatch(
      /^kserving: \S+hooks\.ts: init_hook failed: no labels \(at \S+\)\n {2}caused by: Error: no labels\n {6}at /,
    );
  }
});

describe("--help and --version end with 0", () => {
  test("help of serve names every flag with its default, and the other command", async () => {
    const { code, stdout, stderr } = await runCommand(["--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/-o, --option <\[STAGE:\]KEY=VALUE>/);
    expect(stdout.replace(/\s+/g, " ")).toContain("--port <PORT> gRPC port; 0 picks a free one (default: 9000)");
    expect(stdout).toContain("kserving proxy --help");
    expect((await runCommand(["serve", "-h"])).stdout).toBe(stdout);
  });

  test("help has the flags in groups, the basics first, and nearly each on one line", async () => {
    const { stdout } = await runCommand(["--help"]);
    expect(stdout.match(/^\S.*:$/gm)).toEqual([
      "Models:",
      "Several models:",
      "Hooks:",
      "Network:",
      "Authentication:",
      "Limits:",
      "Logging:",
      "Other:",
      "Examples:",
      "Commands:",
    ]);
    const flags = stdout.match(/^ {2}(-\w, )?--.*$/gm) ?? [];
    const continued = stdout.match(/^ {30,}\S.*$/gm) ?? [];
    expect(flags[0]).toContain("--model-path");
    expect(continued.length).toBeLessThan(flags.length / 8);
  });

  test("help of proxy has its own flags", async () => {
    const { code, stdout } = await runCommand(["proxy", "--help"]);
    expect(code).toBe(0);
    expect(stdout).toContain("--grpc-address <HOST:PORT>");
    expect(stdout).not.toContain("--model-path");
    expect((await runCommand(["help", "proxy"])).stdout).toBe(stdout);
  });

  test("the word help does what the flag does", async () => {
    expect(await runCommand(["help"])).toEqual(await runCommand(["--help"]));
  });

  test("the version is the package's", async () => {
    const manifest = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
    expect(await runCommand(["--version"])).toMatchObject({ code: 0, stdout: `${manifest.version}\n` });
  });
});

test.each([
  [["--version"], 0, /^$/],
  [["--port", "0", "--model-path", "package.json"], 1, /^kserving: No driver recognises package\.json [^\n]+\.\n$/],
  [["--drvier", "null"], 2, /^kserving: unknown option '--drvier' [^\n]+ lists the flags\.\n$/],
])("the program kserving %j ends with %i and its line alone", async (args, code, line) => {
  const ended = await runKserving(args);
  expect([ended.code, ended.stderr]).toEqual([code, expect.stringMatching(line)]);
});

test("the thread pool is larger than the number of cores, unless the environment says its size", async () => {
  const hooks = await writeTestFile(
    "hooks.ts",
    'export const init_hook = () => { throw new Error("pool of " + process.env.UV_THREADPOOL_SIZE); };',
  );
  const [own, given] = await Promise.all([
    runKserving([...NULL, "--hooks", hooks], { UV_THREADPOOL_SIZE: undefined }),
    runKserving([...NULL, "--hooks", hooks], { UV_THREADPOOL_SIZE: "3" }),
  ]);
  expect(own.stderr).toContain(`pool of ${availableParallelism() + 4}`);
  expect(given.stderr).toContain("pool of 3");
});

test("a signal while models load ends the program at once, as that signal does", async () => {
  const hooks = await writeTestFile(
    "hooks.ts",
    'export const init_hook = () => { console.log("stuck"); return new Promise((resolve) => setInterval(resolve.call, 1e6)); };',
  );
  const program = startKserving([...NULL, "--hooks", hooks]);
  await program.output(/stuck/);
  program.kill("SIGTERM");
  expect(await program.ended()).toMatchObject({ code: null, signal: "SIGTERM" });
});

/** A port on which another program listens. */
async function takePort(): Promise<number> {
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void holder.close());
  return (holder.address() as { port: number }).port;
}

test("without its build the program says how to make one", async () => {
  const bin = new URL("../../bin/kserving.cjs", import.meta.url);
  const copy = await writeTestFile("kserving.cjs", await readFile(bin, "utf8"));
  await expect(promisify(execFile)(process.execPath, [copy])).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^kserving: .* is missing; run "npm run build" first\.\n$/),
  });
});

test("a thread is started early for the drivers whose models run in threads", async () => {
  const found = await Promise.all(DRIVER_NAMES.map(findDriver));
  const threaded = found.filter(({ driver }) => driver.placement !== "inline");
  expect(threaded.map(({ driver }) => driver.name)).toEqual(THREADED);
});
