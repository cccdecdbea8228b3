import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { makeTar } from "../../test/storage/runtimes/make-tarball.ts";
import { makeZip } from "../../test/storage/runtimes/make-zip.ts";

/** A store of models that is not to be trusted: `archives` by their names, and `/breaks/` and `/stalls/` in its URL. */
interface HostileStore {
  /** `http://host:port`. */
  readonly url: string;
  /** Sound ones, whose names begin with `sound`, and damaged ones that unpack without a word. */
  readonly archives: Readonly<Record<string, Buffer>>;
}

/** Bytes that come of a download that breaks or stalls. */
const BEGUN = 10;
const MODEL = '{"inputs":{"x":[1]}}';
const FILES = { "m.null": MODEL, "weights.bin": "weight ".repeat(20_000) };

let opened: Promise<HostileStore> | undefined;

/** Starts the store, once; it ends with the process. */
export function openStore(): Promise<HostileStore> {
  opened ??= start();
  return opened;
}

/** A name of a model for that of an archive. */
export function toModelName(archive: string): string {
  return archive.replaceAll(".", "-");
}

async function start(): Promise<HostileStore> {
  const archives = makeArchives();
  const server: Server = createServer(({ method, url = "" }, response) => {
    const body = archives[url.slice(1)] ?? Buffer.from(MODEL);
    response.writeHead(200, { "content-length": body.length });
    if (method === "GET" && /^\/(?:breaks|stalls)\//.test(url)) begin(response, url.startsWith("/breaks"));
    else response.end(method === "HEAD" ? undefined : body);
  });
  server.listen(0, "127.0.0.1").unref();
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, archives };
}

function begin(response: ServerResponse, breaks: boolean): void {
  response.write(MODEL.slice(0, BEGUN), () => {
    if (breaks) response.destroy();
  });
}

/** Stored rather than deflated, so that a changed byte shows in nothing but the checksum. */
function makeArchives(): Record<string, Buffer> {
  const tar = makeTar(Object.entries(FILES).map(([name, text]) => ({ name, text })));
  const padded = gzipSync(Buffer.concat([tar, Buffer.alloc(200_000)]), { level: 0 });
  const whole = gzipSync(tar);
  const zip = makeZip(FILES, { stored: true });
  return {
    "sound.tar.gz": padded,
    "sound.zip": zip,
    "changed.tar.gz": withChangedWeight(padded),
    "changed.zip": withChangedWeight(zip),
    "cut-by-8.tar.gz": whole.subarray(0, -8),
    "cut-by-300.tar.gz": whole.subarray(0, -300),
  };
}

function withChangedWeight(archive: Buffer): Buffer {
  const changed = Buffer.from(archive);
  changed.write("WEIGHT", changed.indexOf("weight weight"));
  return changed;
}
