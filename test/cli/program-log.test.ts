import { openSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { tempFolder } from "../helpers/temp-folder.ts";
import { loggedEvent, startAtTerminal, startKserving, writeTestFile } from "./start-kserving.ts";

const NULL = ["--driver", "null", "--port", "0", "--host", "127.0.0.1"];
const FAILING = `interface Unused { x: number }

export const preprocess = (inputs, ctx) => {
  throw new Error("no labels");
};
`;
const HTTP = ["--http-enable", "--http-port", "0"];

test("--log-path writes to the file and to standard output", async () => {
  const path = join(tempFolder(), "kserving.log");
  const program = startKserving([...NULL, "--log-path", path]);
  const onConsole = await program.event("ready");
  program.kill("SIGTERM");
  const { stdout } = await program.ended();
  expect(readFileSync(path, "utf8")).toBe(stdout);
  expect(onConsole).toEqual(await loggedEvent(path, "ready"));
});

test("SIGUSR2 opens the file again, as logrotate asks, and without a file ends nothing", async () => {
  const path = join(tempFolder(), "kserving.log");
  const [program, other] = [startKserving([...NULL, "--log-path", path]), startKserving(NULL)];
  await Promise.all([program.event("ready"), other.event("ready")]);
  renameSync(path, `${path}.1`);
  program.kill("SIGUSR2");
  await program.event("the log file was opened again");
  program.kill("SIGTERM");
  await program.ended();
  const [old, current] = [readFileSync(`${path}.1`, "utf8"), readFileSync(path, "utf8")];
  expect([old, current].map((text) => text.split("\n").length > 1)).toEqual([true, true]);
  expect(old + current).toMatch(/"msg":"ready"[\s\S]*"msg":"the log file was opened again"[\s\S]*"msg":"stopped"\}\n$/);
  other.kill("SIGUSR2");
  expect(await other.event("there is no log file to open again; --log-path names one")).toMatchObject({
    level: "info",
  });
});

test("a standard output that is redirected to the file of LOG_PATH gets each line once", async () => {
  const path = join(tempFolder(), "kserving.log");
  const program = startKserving(NULL, { LOG_PATH: path }, openSync(path, "a"));
  await loggedEvent(path, "ready");
  program.kill("SIGTERM");
  await program.ended();
  expect(readFileSync(path, "utf8").match(/"msg":"stopped"/g)).toHaveLength(1);
});

interface PageLog {
  readonly lines: readonly { readonly level: string; readonly message: string }[];
}

/** Messages of the log that the page shows. */
async function shownMessages(url: string): Promise<readonly string[]> {
  const { lines } = (await (await fetch(`${url}/ui/log`)).json()) as PageLog;
  return lines.map(({ message }) => message);
}

test("the page's log has what the program says before and after its server starts", async () => {
  const program = startKserving([...NULL, ...HTTP], { KSERVING_WORKERZ: "1" });
  const { http } = await program.event("ready");
  const shown = await shownMessages(String(http));
  expect(shown).toEqual(expect.arrayContaining([expect.stringContaining("KSERVING_WORKERZ"), "loading", "ready"]));
  expect(new Set(shown).size).toBe(shown.length);
});

test("--log-format text prints for people on a pipe too", async () => {
  const program = startKserving([...NULL, "--log-format", "text"]);
  const [line] = await program.output(/^.* ready .*$/m);
  expect(line).toMatch(/^\d\d:\d\d:\d\d INFO {2}ready {2}name=default {2}grpc=\S+ /);
});

describe.skipIf(process.platform !== "linux")("at a terminal (made by Linux's script)", () => {
  test("a hook that throws is shown with its own file, line and code, and no stack", async () => {
    const hooks = await writeTestFile("hooks.ts", FAILING);
    const program = startAtTerminal([...NULL, ...HTTP, "--hooks", hooks]);
    const [, url = ""] = await program.output(/HTTP {2}(\S+)/);
    await fetch(`${url}/serving-proxy`, { method: "POST", body: "{}" });
    const [shown] = await program.output(/ERROR[\s\S]*status=500[^\n]*\n/);
    expect(shown).toMatch(/request failed: The hook preprocess failed: no labels\r\n +at \S+hooks\.ts:4:9\r\n/);
    expect(shown).toMatch(/4 \| {3}throw new Error\("no labels"\);\r\n +\| {9}\^\r\n/);
    expect(shown).not.toMatch(/node:|dist\/|\{"level"/);
  });

  test("the page's log has what the terminal shows in another form", async () => {
    const program = startAtTerminal([...NULL, ...HTTP]);
    const [, url = ""] = await program.output(/HTTP {2}(\S+)/);
    expect(await shownMessages(url.trim())).toEqual(expect.arrayContaining(["loading", "ready"]));
  });

  test("--log-format json keeps to JSON lines", async () => {
    const program = startAtTerminal([...NULL, "--log-format", "json"]);
    expect(await program.event("ready")).toMatchObject({ name: "default" });
  });

  test("a start that fails in a hook file shows the line of code", async () => {
    const hooks = await writeTestFile("hooks.ts", "export const preprocess =\n  (inputs) => { return ];\n");
    const { stdout, code } = await startAtTerminal([...NULL, "--hooks", hooks]).ended();
    expect(stdout).toMatch(/hooks\.ts:2:24: Unexpected "\]"\r\n +at \S+hooks\.ts:2:24\r\n +2 \| .*return \];\r\n/);
    expect(code).toBe(1);
  });
});
