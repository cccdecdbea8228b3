import { createHash, randomBytes } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { reasonText } from "../src/errors.ts";
import { createSilentLogger } from "../src/observability/logger.ts";

import { RemoteStorage } from "../src/storage/remote-storage.ts";
import { FaultProxy } from "./storage/fault-proxy.ts";
import type { RealServer } from "./storage/real-server.ts";
import { startAzurite } from "./storage/start-azurite.ts";
import { startFakeGcs } from "./storage/start-fake-gcs.ts";
import { startMinio } from "./storage/start-minio.ts";
import { startRegistry } from "./storage/start-registry.ts";

const SERVERS = {
  MinIO: startMinio,
  "fake-gcs-server": startFakeGcs,
  Azurite: startAzurite,
  Distribution: startRegistry,
};
const CACHE = join(process.cwd(), ".cache", "check-storage");
const LARGE = randomBytes(8_000_000);

let cases = 0;
let failures = 0;
for (const [name, start] of Object.entries(SERVERS)) {
  const server = await start().catch((reason: unknown) => console.log(`- ${name}: not started: ${reasonText(reason)}`));
  if (!server) {
    failures++;
    continue;
  }
  console.log(`${name} ${server.version}`);
  await tryServer(name, server).finally(() => server.stop());
}
console.log(`${cases - failures} of ${cases} cases passed`);
process.exitCode = failures > 0 ? 1 : 0;

/** Downloads with and without faults; each case has a cache of its own. */
async function tryServer(name: string, server: RealServer): Promise<void> {
  const proxy = await FaultProxy.start(server.port);
  Object.assign(process.env, server.env(proxy.port));
  const bucket = server.bucket(proxy.port);
  await server.put("models/a b/1/model+ü.bin", LARGE);
  await server.put("models/a b/1/small.txt", Buffer.from("small"));
  const read = (storage: RemoteStorage) => () => storage.fetch(`${bucket}/models/a b/1`, new AbortController().signal);
  const isLarge = async (storage: RemoteStorage, content = LARGE) => {
    const { path, release } = await read(storage)();
    release();
    const found = readFileSync(join(path, "model+ü.bin"));
    if (!found.equals(content)) throw new Error(`${digest(found)} came in place of ${digest(content)}`);
  };
  await check(`${name}: a folder`, (storage) => isLarge(storage));
  for (const fault of ["cut", "corrupt", "delay", "garbage"] as const) {
    await check(`${name}: ${fault}`, async (storage) => {
      proxy.next(fault);
      await isLarge(storage);
      if (proxy.isPending) throw new Error("the fault did not happen");
    });
  }
  await check(`${name}: a changed object`, async (storage) => {
    await isLarge(storage);
    const changed = randomBytes(1_000_000);
    await server.put("models/a b/1/model+ü.bin", changed);
    storage.expire();
    await isLarge(storage, changed);
  });
  await check(`${name}: nothing there`, (storage) => fails(storage, `${bucket}/none`, /nothing is there/));
  const other = bucket.replace(/[^/]+$/, "no-such-bucket");
  await check(`${name}: no such bucket`, (storage) => fails(storage, `${other}/m`, /cannot be read: /));
  await proxy.stop();
}

async function fails(storage: RemoteStorage, address: string, expected: RegExp): Promise<void> {
  const message = await storage.indexOf(address).then(() => "it did not fail", reasonText);
  console.log(`    ${message}`);
  if (!expected.test(message)) throw new Error(`it failed with other words: ${message}`);
}

async function check(title: string, run: (storage: RemoteStorage) => Promise<void>): Promise<void> {
  cases++;
  rmSync(CACHE, { recursive: true, force: true });
  const options = { folder: CACHE, maxBytes: 0, pollMs: 0, describes: () => false, log: createSilentLogger() };
  const storage = new RemoteStorage(options);
  const started = performance.now();
  try {
    await run(storage);
    console.log(`ok  ${title} (${Math.round(performance.now() - started)} ms)`);
  } catch (reason) {
    failures++;
    console.log(`BAD ${title}: ${reasonText(reason)}`);
  } finally {
    storage.close();
    rmSync(CACHE, { recursive: true, force: true });
  }
}

function digest(bytes: Uint8Array): string {
  return `${bytes.length} bytes ${createHash("sha256").update(bytes).digest("hex").slice(0, 8)}`;
}
