import { describe, expect, test } from "vitest";
import { runKserving, type StartedProgram, startKserving, writeTestFile } from "../start-kserving.ts";

const NULL = ["--driver", "null", "--port", "0", "--http-port", "0"];

/** Says who it is and what it was told, then lives until SIGTERM, or until the server that started it is gone. */
const FRONT = `
  const { KSERVING_GRPC_ADDRESS: grpc, KSERVING_HTTP_PORT: http } = process.env;
  const parent = process.ppid;
  setInterval(() => process.ppid === parent || process.kill(process.pid, "SIGKILL"), 20);
  process.on("SIGTERM", () => { console.log("front ends"); process.exit(); });
  console.log("front " + JSON.stringify({ pid: process.pid, argv: process.argv.slice(2), grpc, http }));
`;
/** Hears SIGTERM and stays. */
const STUBBORN_FRONT = FRONT.replace("process.exit()", "null");

interface Front {
  readonly pid: number;
  readonly argv: readonly string[];
  readonly grpc: string;
  readonly http: string;
}

/** The n-th start of the program, from 1. */
async function nthFront(program: StartedProgram, n: number): Promise<Front> {
  const [, json = ""] = await program.output(new RegExp(`(?:^front [\\s\\S]*?){${n - 1}}^front (\\{.*\\})$`, "m"));
  return JSON.parse(json);
}

async function startWithFront(args = "", source = FRONT, flags: readonly string[] = []) {
  const script = await writeTestFile("front.cjs", source);
  const command = `'${process.execPath}' ${script} ${args}`;
  const program = startKserving([...NULL, "--http-enable", "--http-server-command", command, ...flags]);
  return { program, ready: await program.event("ready") };
}

describe("--http-server-command", () => {
  test("passes the program both addresses, in its environment and in its arguments", async () => {
    const { program, ready } = await startWithFront(`--to {grpc_address} '{grpc_port} and {http_port}' {other}`);
    const { argv, grpc, http } = await nthFront(program, 1);
    const port = grpc.split(":")[1];
    expect(grpc).toBe(`127.0.0.1:${port}`);
    expect(argv).toEqual(["--to", grpc, `${port} and ${http}`, "{other}"]);
    expect(ready).toMatchObject({ grpc: `localhost:${port}`, http: `http://localhost:${http}` });
  });

  test("starts the program again when it dies", async () => {
    const { program } = await startWithFront();
    const first = await nthFront(program, 1);
    process.kill(first.pid, "SIGKILL");
    const second = await nthFront(program, 2);
    expect(second).toMatchObject({ grpc: first.grpc, http: first.http });
    expect(second.pid).not.toBe(first.pid);
    expect(await program.event("the HTTP server command ended")).toMatchObject({
      level: "warn",
      signal: "SIGKILL",
      restartInMs: 100,
    });
  });

  test("waits longer each time when it dies at once", async () => {
    const { program } = await startWithFront("", "process.exitCode = 3;");
    const [log] = await program.output(/(?:[\s\S]*?"restartInMs":\d+){3}/);
    expect(Array.from(log.matchAll(/"code":3,.*"restartInMs":(\d+)/g), ([, ms]) => ms)).toEqual(["100", "200", "400"]);
  });

  // A program is "ended" here once no process holds its output any more, and the front has inherited that.
  test("ends the program with the server", async () => {
    const { program } = await startWithFront();
    await nthFront(program, 1);
    program.kill("SIGTERM");
    expect(await program.ended()).toMatchObject({ code: 0, stdout: expect.stringContaining("front ends") });
  });

  test("kills a program that does not end within the drain timeout", async () => {
    const { program } = await startWithFront("", STUBBORN_FRONT, ["--drain-timeout", "0.2"]);
    await nthFront(program, 1);
    program.kill("SIGTERM");
    expect(await program.ended()).toMatchObject({ code: 0, stdout: expect.stringContaining("front ends") });
  });

  test("takes the program along when a second signal kills the server", async () => {
    const { program } = await startWithFront("", STUBBORN_FRONT);
    await nthFront(program, 1);
    program.kill("SIGINT");
    await program.output(/front ends/);
    program.kill("SIGINT");
    expect(await program.ended()).toMatchObject({ signal: "SIGKILL" });
  });

  test("ends with 1 when the program cannot be started", async () => {
    const { code, stderr } = await runKserving([
      ...NULL,
      "--http-server-command",
      "no-such-program --port {http_port}",
    ]);
    expect(stderr).toMatch(
      /^kserving: The program no-such-program of --http-server-command could not be started \(.*ENOENT\); expected .*PATH/,
    );
    expect(code).toBe(1);
  });
});
