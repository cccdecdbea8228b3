import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { Client, credentials } from "@grpc/grpc-js";
import { PREDICT_PATH } from "../src/protocols/tensorflow-serving/grpc-service.ts";
import { predictMessage } from "../test/faults/fault-server.ts";
import { freePort } from "../test/helpers/free-port.ts";
import { tlsPath } from "../test/helpers/tls-fixture.ts";

/**
 * Two instances behind HAProxy and nginx, as examples/proxies has them, are restarted one after the other under load.
 */

const HOST = "127.0.0.1";
/** Time in which a proxy sees that an instance is back, in milliseconds. */
const SETTLE_MS = 3000;
/**
 * Clients of each proxy and transport, each with one request at a time, and the pause
 * before its next one, in milliseconds.
 */
const CLIENTS = 4;
const PAUSE_MS = 20;

interface Ports {
  readonly grpc: number;
  readonly http: number;
}

const folder = mkdtempSync(join(tmpdir(), "kserving-proxies-"));
const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGTERM");
  rmSync(folder, { recursive: true, force: true });
});

function start(program: string, args: readonly string[]): ChildProcess {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

async function freePorts(): Promise<Ports> {
  return { grpc: await freePort(), http: await freePort() };
}

/** Resolves with an instance that is ready. */
async function startInstance({ grpc, http }: Ports): Promise<ChildProcess> {
  const tls = ["--tls-cert", tlsPath("server.pem"), "--tls-key", tlsPath("server.key")];
  const ports = ["--host", HOST, "--port", String(grpc), "--http-port", String(http)];
  const flags = ["--driver", "null", ...ports, ...tls];
  const child = start(process.execPath, ["bin/kserving.cjs", ...flags]);
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream }))
    if (JSON.parse(line).msg === "ready") break;
  child.stdout?.resume();
  return child;
}

/** The sample with other addresses, in a file. */
function writeConfiguration(sample: string, own: Ports, instances: readonly Ports[]): string {
  let text = readFileSync(join("examples/proxies", sample), "utf8")
    .replace(/\/etc\/\w+\/kserving-ca\.pem/g, tlsPath("ca.pem"))
    .replace(/(bind |listen )(:?)8000/g, `$1${HOST}:${own.grpc}`)
    .replace(/(bind |listen )(:?)8001/g, `$1${HOST}:${own.http}`);
  instances.forEach(({ grpc, http }, index) => {
    const name = `10.0.0.${index + 1}`;
    text = text.replaceAll(`${name}:9000`, `${HOST}:${grpc}`).replaceAll(`${name}:9001`, `${HOST}:${http}`);
  });
  const path = join(folder, sample);
  writeFileSync(path, text);
  return path;
}

const nginxArguments = (path: string) => ["-c", path, "-g", `daemon off; pid ${path}.pid; error_log stderr;`];

/** The programs with their samples: how they check one, and how they run with it. */
const PROXIES = {
  haproxy: {
    sample: "haproxy.cfg",
    check: (path: string) => ["-c", "-f", path],
    run: (path: string) => ["-db", "-f", path],
  },
  nginx: { sample: "nginx.conf", check: (path: string) => ["-t", ...nginxArguments(path)], run: nginxArguments },
} as const;

async function startProxy(name: keyof typeof PROXIES, instances: readonly Ports[]): Promise<Ports> {
  const { sample, check, run } = PROXIES[name];
  const own = await freePorts();
  const path = writeConfiguration(sample, own, instances);
  execFileSync(name, check(path), { stdio: ["ignore", "ignore", "pipe"] });
  start(name, run(path)).stdout?.resume();
  return own;
}

/** Answers and failures of one kind of requests. */
class Tally {
  answered = 0;
  readonly failures = new Map<string, number>();

  async count(sent: Promise<unknown>): Promise<void> {
    try {
      await sent;
      this.answered++;
    } catch (reason) {
      const text = (reason as Error).message;
      this.failures.set(text, (this.failures.get(text) ?? 0) + 1);
    }
  }
}

const MESSAGE = predictMessage(100);
const BODY = JSON.stringify({ inputs: Array.from({ length: 100 }, (_, index) => index) });

function grpcSender(port: number): () => Promise<unknown> {
  const client = new Client(`${HOST}:${port}`, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 });
  const asIs = (bytes: Buffer) => bytes;
  return () =>
    new Promise((resolve, reject) => {
      const options = { deadline: Date.now() + 10_000 };
      client.makeUnaryRequest(PREDICT_PATH, asIs, asIs, MESSAGE, options, (error, answer) =>
        error === null ? resolve(answer) : reject(error),
      );
    });
}

function httpSender(port: number): () => Promise<unknown> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const target = { host: HOST, port, path: "/v1/models/default:predict", method: "POST", agent, timeout: 10_000 };
  return () =>
    new Promise<void>((resolve, reject) => {
      const sent = request(target, (response) => {
        response.resume().once("end", () => resolve());
        if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`));
      });
      sent.once("error", reject).end(BODY);
    });
}

let isOver = false;

/** Sends one request after another until all is over. */
async function load(send: () => Promise<unknown>, tally: Tally): Promise<void> {
  while (!isOver) {
    await tally.count(send());
    await setTimeout(PAUSE_MS);
  }
}

const instances = [await freePorts(), await freePorts()];
const processes = await Promise.all(instances.map(startInstance));
const tallies: Record<string, Tally> = {};
const loads: Promise<void>[] = [];
const entries: [string, Ports][] = [];
for (const name of Object.keys(PROXIES) as (keyof typeof PROXIES)[])
  entries.push([name, await startProxy(name, instances)]);
await setTimeout(SETTLE_MS);
for (const [name, ports] of entries) {
  for (const [transport, sender] of Object.entries({ gRPC: grpcSender, HTTP: httpSender })) {
    const tally = new Tally();
    tallies[`${transport} through ${name}`] = tally;
    const port = transport === "gRPC" ? ports.grpc : ports.http;
    for (let client = 0; client < CLIENTS; client++) loads.push(load(sender(port), tally));
  }
}
await setTimeout(SETTLE_MS);
for (const [index, ports] of instances.entries()) {
  const old = processes[index] as ChildProcess;
  old.kill("SIGTERM");
  const [code] = await once(old, "exit");
  if (code !== 0) throw new Error(`an instance ended with ${code}`);
  processes[index] = await startInstance(ports);
  await setTimeout(SETTLE_MS);
}
isOver = true;
await Promise.all(loads);
for (const [name, { answered, failures }] of Object.entries(tallies)) {
  const lost = [...failures.values()].reduce((sum, count) => sum + count, 0);
  console.log(`${name}: ${answered} answered, ${lost} failed`, ...(lost === 0 ? [] : [Object.fromEntries(failures)]));
  if (lost > 0 || answered === 0) process.exitCode = 1;
}
process.exit();
