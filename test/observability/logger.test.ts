import { openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { probePort } from "../../src/cli/addresses/probe-port.ts";
import { LogFilter } from "../../src/observability/log-filter.ts";
import { createLogger, createOutputLogger } from "../../src/observability/logger.ts";
import { startKserving, writeTestFile } from "../cli/start-kserving.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const FAILING = "export const preprocess = () => { throw new Error('broken'); };";

/** Flags of a server whose every request is logged as an error. */
async function failingServer(): Promise<{ readonly flags: readonly string[]; readonly url: string }> {
  const port = await probePort("127.0.0.1", 0, "port");
  const hooks = await writeTestFile("hooks.ts", FAILING);
  const flags = ["--driver", "null", "--host", "127.0.0.1", "--port", "0", "--hooks", hooks];
  return { flags: [...flags, "--http-enable", "--http-port", String(port)], url: `http://127.0.0.1:${port}` };
}

/** The status of a request, once it is listened to. */
async function ask(url: string): Promise<number> {
  const send = () => fetch(`${url}/serving-proxy`, { method: "POST", body: "{}" });
  let status = 0;
  const isAnswered = async () => {
    status = (await send().catch(() => ({ status: 0 }))).status;
    return status > 0;
  };
  await expect.poll(isAnswered, { timeout: 10_000, interval: 20 }).toBe(true);
  return status;
}

/** The text on standard error: one line, however many lines of the log are lost. */
const toldOnce = (where: string, why: string) =>
  `kserving: the log cannot be written to ${where} any more: ${why}; the server goes on without it.\n`;

describe.skipIf(process.platform !== "linux")("a full disk (Linux's /dev/full) costs the log, not the server", () => {
  const full = "ENOSPC: no space left on device, write";

  test("under --log-path", async () => {
    const { flags, url } = await failingServer();
    const program = startKserving([...flags, "--log-path", "/dev/full"]);
    for (let round = 0; round < 3; round++) expect(await ask(url)).toBe(500);
    program.kill("SIGTERM");
    expect(await program.ended()).toMatchObject({ code: 0, stderr: toldOnce("/dev/full", full) });
  });

  test("under standard output", async () => {
    const { flags, url } = await failingServer();
    const program = startKserving(flags, {}, openSync("/dev/full", "w"));
    for (let round = 0; round < 3; round++) expect(await ask(url)).toBe(500);
    program.kill("SIGTERM");
    expect(await program.ended()).toMatchObject({ code: 0, stderr: toldOnce("standard output", full) });
  });
});

test("a standard output without a reader costs the log, not the server", async () => {
  const { flags, url } = await failingServer();
  const program = startKserving(flags);
  await program.event("loading");
  program.stopReading();
  for (let round = 0; round < 3; round++) expect(await ask(url)).toBe(500);
  program.kill("SIGTERM");
  expect(await program.ended()).toMatchObject({ code: 0, stderr: toldOnce("standard output", "write EPIPE") });
});

test("an error is logged with its own message, and with its cause", () => {
  const path = join(tempFolder(), "log");
  createLogger({ path }).error("failed", { err: new Error("no answer: no disk", { cause: new Error("no disk") }) });
  expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({
    err: { message: "no answer: no disk", stack: expect.any(String), cause: { message: "no disk" } },
  });
});

test("no character of an event commands a terminal that shows the line, and none is lost", () => {
  const lines: string[] = [];
  const log = createOutputLogger([{ write: (line) => void lines.push(line) }], new LogFilter("info"));
  const hostile = "\u001b[2J \u009b2J \u007f \u2028 \u202e \u2066 \n \t é 写";
  log.info(hostile, { [hostile]: hostile });
  const [line = ""] = lines;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  expect(line).toMatch(/^[^\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+\n$/);
  expect(JSON.parse(line)).toMatchObject({ msg: hostile, [hostile]: hostile });
});

test("fields do not take the place of an event's own members", () => {
  const lines: string[] = [];
  const log = createOutputLogger([{ write: (line) => void lines.push(line) }], new LogFilter("info"));
  log.child({ time: 1 }).info("message", { level: 3, msg: "text", x: 1 });
  const [line = ""] = lines;
  expect(JSON.parse(line)).toEqual({
    level: "info",
    time: expect.stringMatching(/Z$/),
    "fields.time": 1,
    "fields.level": 3,
    "fields.msg": "text",
    x: 1,
    msg: "message",
  });
  for (const name of ["level", "time", "msg"]) expect(line.split(`"${name}":`)).toHaveLength(2);
});
