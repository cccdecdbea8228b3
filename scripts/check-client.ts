/**
 * Runs the client in Node, Deno and Bun, as their users have it: an installed package, a server elsewhere. Deno and Bun
 * come from the npm registry; where they cannot be had for this machine, it says so.
 */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createServer } from "../src/index.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const project = mkdtempSync(join(tmpdir(), "kserving-client-"));

const PROGRAM = `
import { connect } from "kserving/client";
const seen = [];
for (const address of process.argv.slice(2)) {
  const models = connect(address, { timeoutMs: 20_000 });
  const { y } = await models.half.predict({ x: [1, 2.5] });
  const wrong = await models.half.predict({ z: [1] }).catch(({ code, serverText }) => [code, serverText.includes("z")]);
  const aborted = await models.half.predict({ x: [1] }, { signal: AbortSignal.abort() }).catch(({ code }) => code);
  const streamed = [];
  for await (const { y } of models.half.stream({ x: [3] })) streamed.push(...y.data);
  if (address.startsWith("grpc"))
    for await (const { outputs } of models.half.stream([{ x: [1] }])) streamed.push(...outputs.y.data);
  models.$close();
  seen.push([[...y.data], wrong, aborted, streamed]);
}
const refused = connect(process.argv[2].replace(/:\\d+$/, ":4"), { retries: { attempts: 2, firstDelayMs: 1 } });
seen.push(await refused.half.predict({ x: [1] }).catch(({ code }) => code));
console.log(JSON.stringify(seen));
process.exit(0);
`;
const ANSWER = [[2.5, 3.25], ["invalid_argument", true], "cancelled"];
const EXPECTED = [[...ANSWER, [3.5]], [...ANSWER, [3.5, 2.5]], "unavailable"];

/** The program of a package that has one for each platform: in `folder`, under the scope of its maker. */
function programOf(name: string, scope: string, path: string): string | undefined {
  try {
    execFileSync("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", name], { cwd: project });
    const [platform] = readdirSync(join(project, "node_modules", scope));
    return platform === undefined ? undefined : join(project, "node_modules", scope, platform, path);
  } catch {
    return undefined;
  }
}

/** Runs a program; resolves with its output. */
function outputOf(command: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: project, stdio: ["ignore", "pipe", "inherit"], timeout: 60_000 });
    let text = "";
    child.stdout.on("data", (part) => {
      text += part;
    });
    child.once("error", reject).once("close", () => resolve(text));
  });
}

const half = join(root, "test/fixtures/models/half-plus-two.onnx");
const server = await createServer({ models: { half: { path: half } }, http: {} });
try {
  writeFileSync(join(project, "package.json"), '{ "type": "module", "private": true }\n');
  writeFileSync(join(project, "program.mjs"), PROGRAM);
  const programs = [
    { name: "node", path: process.execPath, args: [] },
    { name: "deno", path: programOf("deno", "@deno", "deno"), args: ["run", "-A", "--node-modules-dir=manual"] },
    { name: "bun", path: programOf("bun", "@oven", "bin/bun"), args: [] },
  ];
  mkdirSync(join(project, "node_modules"), { recursive: true });
  symlinkSync(root, join(project, "node_modules/kserving"));
  for (const { name, path, args } of programs) {
    if (path === undefined) {
      console.log(`${name} is left out: npm has no ${name} for this machine, or cannot be reached`);
      continue;
    }
    const text = await outputOf(path, [...args, "program.mjs", `${server.httpUrl}`, `grpc://${server.grpcAddress}`]);
    assert.deepEqual(JSON.parse(text), EXPECTED, `${name} printed ${text}`);
    console.log(`${name}: HTTP, gRPC, streams, errors and an abort are as expected`);
  }
} finally {
  await server.close();
  rmSync(project, { recursive: true, force: true });
}
