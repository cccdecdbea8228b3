import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runProgram } from "../../../src/storage/runtimes/run-program.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const { signal } = new AbortController();
const node = (program: string) => [process.execPath, "-e", program];

test("a program's output and exit code are reported, its lines as they come", async () => {
  const lines: string[] = [];
  const program = 'console.log("a\\nb"); console.error("c"); process.exitCode = 3';
  const ran = await runProgram(node(program), { signal, onLine: (line) => void lines.push(line) });
  expect(ran).toEqual({ code: 3, stdout: "a\nb", stderr: "c" });
  expect(lines).toEqual(["a", "b"]);
});

test("a program gets variables in addition to the existing ones", async () => {
  const program = "console.log(process.env.TOY, process.env.PATH !== undefined)";
  expect((await runProgram(node(program), { signal, env: { TOY: "1" } })).stdout).toBe("1 true");
});

test("one that cannot be started rejects", async () => {
  await expect(runProgram(["/no/such/program"], { signal })).rejects.toThrow("ENOENT");
});

test("an abort ends a program with what it has started", async () => {
  const path = join(tempFolder(), "socket");
  const server = createServer().listen(path);
  onTestFinished(() => void server.close());
  const controller = new AbortController();
  const connect = `require("net").connect(${JSON.stringify(path)}); setTimeout(() => {}, 60_000)`;
  const parent = `require("child_process").spawnSync(process.execPath, ["-e", ${JSON.stringify(connect)}])`;
  const running = expect(runProgram(node(parent), { signal: controller.signal })).rejects.toThrow("aborted");
  const [connection] = await once(server, "connection");
  const ended = once(connection.resume(), "close");
  controller.abort();
  await running;
  await ended;
});
