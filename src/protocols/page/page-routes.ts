import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { gzipSync } from "node:zlib";
import { failedPrecondition, ServingError } from "../../errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer, HttpRoute, PathParameters } from "../../proxy/http-route.ts";
import type { PageSources } from "../../proxy/page-sources.ts";
import type { InferenceService } from "../../serving/inference-service.ts";

const DONE: HttpAnswer = { contentType: "application/json", body: Buffer.from('{"done":true}') };

/** The page's calls that change the server, for callers that may. */
export function controlRoutes(service: InferenceService): readonly HttpRoute[] {
  return [
    controlRoute("/ui/models/:name/load", ({ name = "" }) => service.load(name)),
    controlRoute("/ui/models/:name/unload", ({ name = "" }) => service.unload(name)),
    controlRoute("/ui/rescan", () => service.rescan()),
  ];
}

function controlRoute(path: string, change: (parameters: PathParameters) => Promise<void>): HttpRoute {
  const answer: HttpRoute["answer"] = async (_, parameters) => {
    await change(parameters);
    return DONE;
  };
  return { method: "POST", path, kind: "control", isForOwnPage: true, answer };
}

const REFUSAL =
  "Requests and the log are shown at the server's own machine, and to callers with a name who may read about all models.";

/** The page's views of a running server; `mayWatch` tells who may see them. */
export function liveRoutes(
  { history, recent, log }: PageSources,
  mayWatch: (request: HttpExchange["request"]) => boolean,
): readonly HttpRoute[] {
  const watch = (path: string, read: (after: number) => object): HttpRoute =>
    readRoute(path, ({ request }) => {
      if (!mayWatch(request)) throw new ServingError("permission_denied", REFUSAL);
      return read(readAfter(request.url));
    });
  return [
    watch("/ui/history", (after) => ({ samples: history.after(after) })),
    watch("/ui/requests", () => ({ requests: recent.look() })),
    watch("/ui/log", (after) => ({ lines: log.after(after) })),
  ];
}

/** A route that only the page reads, as JSON that is not kept. */
export function readRoute(
  path: string,
  read: (exchange: HttpExchange, parameters: PathParameters) => object | Promise<object>,
): HttpRoute {
  const answer: HttpRoute["answer"] = async (exchange, parameters) => {
    const body = Buffer.from(JSON.stringify(await read(exchange, parameters)));
    return { contentType: "application/json", body, headers: { "cache-control": "no-store" } };
  };
  return { method: "GET", path, kind: "read", isForOwnPage: true, answer };
}

/** `?after=N`: the newest that the page has. */
function readAfter(url = ""): number {
  const after = Number(new URL(url, "http://server").searchParams.get("after") ?? 0);
  return Number.isFinite(after) ? after : 0;
}

/** Versions whose examples are kept. */
const MAX_EXAMPLES = 256;

/** Tells the page inputs with which a version runs; they are tried once for each load of it. */
export function exampleRoute(service: InferenceService): HttpRoute {
  const known = new Map<string, Promise<object>>();
  return readRoute("/ui/models/:name/versions/:version/example", (_, { name = "", version = "" }) => {
    const state = service.index().find((one) => one.model === name && String(one.version) === version);
    if (state?.state !== "AVAILABLE") {
      throw new ServingError("not_found", `Version ${version} of ${name} is not available.`);
    }
    const key = `${name}/${version}/${state.generation}`;
    const found = known.get(key) ?? findExample(service, state);
    if (known.size >= MAX_EXAMPLES) known.clear();
    known.set(key, found);
    return found;
  });
}

/** As `{"inputs": [{"name", "shape", "element"}]}`. */
async function findExample(
  service: InferenceService,
  { model, version }: { readonly model: string; readonly version: bigint },
): Promise<object> {
  const lease = await service.acquire({ model, version });
  try {
    const { inputs = [] } = (await lease.exampleInputs?.()) ?? {};
    return {
      inputs: inputs.map(({ name, shape, element }) => ({
        ...{ name, shape },
        element: typeof element === "number" ? element : Buffer.from(element).toString(),
      })),
    };
  } finally {
    lease.release();
  }
}

/** Built; the same from src/ and from dist/. */
const FOLDER = new URL("../../../dist/page/", import.meta.url);
const TYPES = {
  "index.html": "text/html; charset=utf-8",
  "page.js": "text/javascript; charset=utf-8",
  "page.css": "text/css; charset=utf-8",
  "icon.svg": "image/svg+xml",
  "licences.txt": "text/plain; charset=utf-8",
} as const;

/** Files of the page. */
export type PageFile = keyof typeof TYPES;

/** Names of the page's other files. */
export const PAGE_FILES = (Object.keys(TYPES) as PageFile[]).filter((name) => name !== "index.html");

/** Nothing but the server's own files is loaded, or asked; images may be a model's answer. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src blob:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const HEADERS = {
  "cache-control": "no-cache",
  "content-security-policy": POLICY,
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
};

interface ReadyFile {
  readonly plain: Buffer;
  readonly gzip: Buffer;
  readonly etag: string;
}

/** The files of the page as answers, read once. */
export class PageFiles {
  readonly #token: string;
  readonly #ready = new Map<PageFile, ReadyFile>();

  /** `token`: that of the running server, which the page gets. */
  constructor(token: string) {
    this.#token = token;
  }

  /** A file; 304 for a client that has it. Throws `failed_precondition` if the program was built without. */
  answer(name: PageFile, { headers }: IncomingMessage): HttpAnswer {
    const { plain, gzip, etag } = this.#read(name);
    const own = { ...HEADERS, etag };
    const contentType = TYPES[name];
    if (headers["if-none-match"]?.split(/, */).includes(etag))
      return { status: 304, contentType, body: Buffer.alloc(0), headers: { ...own, vary: "Accept-Encoding" } };
    const isGzip = /\bgzip\b/i.test(String(headers["accept-encoding"] ?? ""));
    if (!isGzip) return { contentType, body: plain, headers: { ...own, vary: "Accept-Encoding" } };
    return { contentType, body: gzip, contentEncoding: "gzip", headers: own };
  }

  #read(name: PageFile): ReadyFile {
    const known = this.#ready.get(name);
    if (known !== undefined) return known;
    const plain = name === "index.html" ? this.#withToken(readFile(name)) : readFile(name);
    const etag = `W/"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`;
    const ready = { plain, gzip: gzipSync(plain, { level: 9 }), etag };
    this.#ready.set(name, ready);
    return ready;
  }

  #withToken(html: Buffer): Buffer {
    return Buffer.from(html.toString().replace("{{token}}", this.#token));
  }
}

function readFile(name: PageFile): Buffer {
  try {
    return readFileSync(new URL(name, FOLDER));
  } catch (cause) {
    throw failedPrecondition(
      "This kserving was built without its page; install it again, or build it by npm run build.",
      cause,
    );
  }
}
