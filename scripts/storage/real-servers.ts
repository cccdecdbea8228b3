import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { withAccess } from "../../src/storage/az/az-access.ts";
import { escapeS3, signV4 } from "../../src/storage/s3/sign-v4.ts";
import type { RealServer } from "./real-server.ts";

/** Folder of programs that are installed for this check alone. */
const CACHE = join(process.cwd(), ".cache");
const run = promisify(execFile);
const KEY = { accessKeyId: "checkstorage", secretAccessKey: "check/storage+secret" };
/** The account of Azurite, whose key is public: https://learn.microsoft.com/azure/storage/common/storage-use-azurite */
const ACCOUNT = "devstoreaccount1";
const ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/** MinIO's server, built with Go. */
export async function startMinio(): Promise<RealServer> {
  const { program, version } = await goProgram("minio", "github.com/minio/minio");
  const env = { MINIO_ROOT_USER: KEY.accessKeyId, MINIO_ROOT_PASSWORD: KEY.secretAccessKey };
  const { port, stop } = await start((port, folder) => ({
    command: [program, "server", folder, "--address", `127.0.0.1:${port}`, "--quiet"],
    env,
  }));
  const put = async (path: string, body: Uint8Array) => {
    const url = new URL(`http://127.0.0.1:${port}/models-check${path.split("/").map(escapeS3).join("/")}`);
    const sha256 = createHash("sha256").update(body).digest("hex");
    const headers = signV4({ method: "PUT", url, headers: {}, region: "us-east-1", now: new Date(), sha256 }, KEY);
    await send(url, { method: "PUT", headers, body });
  };
  await put("/", Buffer.alloc(0));
  return {
    port,
    version,
    bucket: "s3://models-check",
    env: (own) => ({
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${own}`,
      AWS_ACCESS_KEY_ID: KEY.accessKeyId,
      AWS_SECRET_ACCESS_KEY: KEY.secretAccessKey,
    }),
    put: (key, content) => put(`/${key}`, content),
    stop,
  };
}

/** An emulator of Google's storage, built with Go. */
export async function startFakeGcs(): Promise<RealServer> {
  const { program, version } = await goProgram("fake-gcs-server", "github.com/fsouza/fake-gcs-server");
  const { port, stop } = await start((port) => ({
    command: [program, "-scheme", "http", "-host", "127.0.0.1", "-port", String(port), "-backend", "memory"],
    env: {},
  }));
  const base = `http://127.0.0.1:${port}`;
  const headers = { "content-type": "application/json" };
  await send(`${base}/storage/v1/b?project=check`, { method: "POST", headers, body: '{"name":"models-check"}' });
  return {
    port,
    version,
    bucket: "gs://models-check",
    env: (own) => ({ STORAGE_EMULATOR_HOST: `http://127.0.0.1:${own}` }),
    put: (key, body) => {
      const query = new URLSearchParams({ uploadType: "media", name: key });
      return send(`${base}/upload/storage/v1/b/models-check/o?${query}`, { method: "POST", body });
    },
    stop,
  };
}

/** Microsoft's emulator of Azure's storage, from npm. */
export async function startAzurite(): Promise<RealServer> {
  const { program, version } = await npmProgram("azurite", "azurite-blob");
  const { port, stop } = await start((port, folder) => ({
    command: [
      program,
      "--silent",
      "--skipApiVersionCheck",
      "--location",
      folder,
      "--blobHost",
      "127.0.0.1",
      "--blobPort",
      String(port),
    ],
    env: {},
  }));
  const endpoint = `http://127.0.0.1:${port}/${ACCOUNT}`;
  const put = async (path: string, body: Uint8Array, extra: Readonly<Record<string, string>> = {}) => {
    const url = new URL(`${endpoint}/${path}`);
    const headers = { ...extra, ...(body.length > 0 && { "content-length": String(body.length) }) };
    await send(url, {
      method: "PUT",
      headers: withAccess({ method: "PUT", url, headers, account: ACCOUNT }, { accountKey: ACCOUNT_KEY }),
      body,
    });
  };
  await put("models-check?restype=container", Buffer.alloc(0));
  const connection = (own: number) =>
    `AccountName=${ACCOUNT};AccountKey=${ACCOUNT_KEY};BlobEndpoint=http://127.0.0.1:${own}/${ACCOUNT};`;
  return {
    port,
    version,
    bucket: "az://models-check",
    env: (own) => ({ AZURE_STORAGE_CONNECTION_STRING: connection(own) }),
    put: (key, content) =>
      put(`models-check/${key.split("/").map(encodeURIComponent).join("/")}`, content, {
        "x-ms-blob-type": "BlockBlob",
      }),
    stop,
  };
}

interface Program {
  readonly program: string;
  readonly version: string;
}

/** The newest version of a program, built once. */
async function goProgram(name: string, module: string): Promise<Program> {
  const program = join(CACHE, "go", name);
  const env = { ...process.env, GOBIN: join(CACHE, "go") };
  if (!existsSync(program)) await run("go", ["install", `${module}@latest`], { env });
  const { stdout } = await run("go", ["version", "-m", program]);
  return { program, version: /^\tmod\t\S+\t(\S+)/m.exec(stdout)?.[1] ?? "?" };
}

/** The newest version of a program, installed once into a folder of its own. */
async function npmProgram(name: string, command: string): Promise<Program> {
  const folder = join(CACHE, name);
  const installed = join(folder, "node_modules");
  mkdirSync(folder, { recursive: true });
  if (!existsSync(installed)) await run("npm", ["install", "--no-audit", "--no-fund", "--prefix", folder, name]);
  const { version } = JSON.parse(readFileSync(join(installed, name, "package.json"), "utf8"));
  return { program: join(installed, ".bin", command), version };
}

interface Started {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Starts a program on a free port and waits until it listens there. */
async function start(toCommand: (port: number, folder: string) => Started) {
  const folder = mkdtempSync(join(tmpdir(), "check-storage-"));
  const port = await freePort();
  const { command, env } = toCommand(port, folder);
  const [program = "", ...args] = command;
  const child: ChildProcess = spawn(program, args, {
    env: { ...process.env, ...env },
    stdio: "ignore",
    detached: true,
  });
  const ended = once(child, "exit");
  const stop = async () => {
    // Some servers have children.
    process.kill(-(child.pid as number));
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  for (let tries = 0; tries < 300; tries++) {
    if (child.exitCode !== null) throw new Error(`${program} has ended`);
    const isThere = await fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    );
    if (isThere) return { port, stop };
    await delay(200);
  }
  await stop();
  throw new Error(`${program} does not listen`);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

async function send(
  url: string | URL,
  { headers, ...init }: { method: string; headers?: Record<string, string>; body?: Uint8Array | string },
): Promise<void> {
  // fetch writes these itself.
  const { host: _, "content-length": __, ...rest } = headers ?? {};
  const response = await fetch(url, { ...init, headers: rest, body: init.body as string });
  if (!response.ok && response.status !== 409)
    throw new Error(`${url} answers ${response.status}: ${await response.text()}`);
}
