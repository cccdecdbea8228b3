import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { gzipSync } from "node:zlib";
import { currentScope } from "../../access/call-scope.ts";
import { isLocalCaller } from "../../access/control-access.ts";
import { failedPrecondition, ServingError } from "../../errors.ts";
import { isChosenProtocol } from "../../platform/limits/settings/protocol-settings.ts";
import { callerOf } from "../../proxy/caller-of.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer, HttpDependencies, HttpRoute, PathParameters } from "../../proxy/http-route.ts";
import type { PageSources } from "../../proxy/page-sources.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { anthropicPaths } from "../anthropic/anthropic.ts";
import { endpointPaths, type Paths, withOwnIds } from "../endpoint-paths.ts";
import { HEALTH_ENDPOINT } from "../http-standard/http-standard.ts";
import { LLMS_ENDPOINT } from "../http-standard/llms-text.ts";
import { kibernetikaPaths } from "../kibernetika/openapi.ts";
import { describeAll } from "../kserve/describe-all.ts";
import { KSERVE_ENDPOINTS } from "../kserve/http-endpoints.ts";
import { type OpenApiDocument, openApiDocument } from "../kserve/openapi.ts";
import { mcpPaths } from "../mcp/mcp.ts";
import { ollamaPaths } from "../ollama/ollama.ts";
import { openaiPaths } from "../openai/endpoints.ts";
import { METRICS_ENDPOINT } from "../prometheus/prometheus.ts";
import type { Protocol } from "../protocol.ts";
import { sagemakerPaths } from "../sagemaker/sagemaker.ts";
import { simpleTensorflowServingPaths } from "../simple-tensorflow-serving/simple-tensorflow-serving.ts";
import { tensorflowPaths } from "../tensorflow-serving/openapi.ts";
import { exampleFinder, graphFinder, pageState } from "./page-state.ts";

/** The server's own page for people: its program at `/` and `/ui`, and what it asks for. */
export const page: Protocol = {
  name: "page",
  http: (dependencies) => {
    const { page: sources } = dependencies;
    if (sources === undefined)
      return { inference: [], turnedOff: { paths: /^\/(?:ui|docs)(?:\/|$)/, without: "--ui" } };
    return { inference: [], routes: pageRoutes(dependencies, sources) };
  },
};

function pageRoutes(dependencies: HttpDependencies, sources: PageSources): readonly HttpRoute[] {
  const files = new PageFiles(sources.token.text);
  const { service, settings } = dependencies;
  const hasTexts = isChosenProtocol("openai", settings.servedProtocols);
  const findExample = exampleFinder(service);
  const { readGraph } = sources;
  const findGraph = readGraph && graphFinder(service, readGraph);
  return [
    { ...fileRoute(files, "/", "index.html"), takes: ({ headers }) => headers.accept?.includes("text/html") === true },
    fileRoute(files, "/ui", "index.html"),
    fileRoute(files, "/docs", "index.html"),
    ...PAGE_FILES.map((name) => fileRoute(files, `/ui/${name}`, name)),
    ...controlRoutes(service),
    ...liveRoutes(sources, mayWatch),
    readRoute("/ui/models/:name/versions/:version/example", (_, place) => findExample(place)),
    ...(findGraph === undefined
      ? []
      : [readRoute("/ui/models/:name/versions/:version/stages/:stage/graph", (_, place) => findGraph(place))]),
    readRoute("/docs/openapi.json", () => apiDocument(dependencies)),
    readRoute("/ui/models", ({ request }) =>
      pageState(service, { ...permissionsOf(request, dependencies), hasTexts, token: sources.token.text }),
    ),
  ];
}

/** The program is public: it is the same for everybody, and asks for credentials if the rest needs some. */
function fileRoute(files: PageFiles, path: string, name: PageFile): HttpRoute {
  const answer = async ({ request }: HttpExchange): Promise<HttpAnswer> =>
    name === "index.html" && /^\/(?:ui|docs)\//.test(request.url ?? "")
      ? redirectTo(path)
      : files.answer(name, request);
  return { method: "GET", path, kind: "page", isForOwnPage: true, answer };
}

/** Relative, as all URLs of the page, so that it works behind a proxy under whatever prefix. */
function redirectTo(path: string): HttpAnswer {
  return {
    status: 308,
    contentType: "text/plain; charset=utf-8",
    body: Buffer.from(`The page is at ..${path}\n`),
    headers: { location: `..${path}` },
  };
}

/** A route that only the page reads, as JSON that is not kept. */
function readRoute(
  path: string,
  read: (exchange: HttpExchange, parameters: PathParameters) => object | Promise<object>,
): HttpRoute {
  const answer: HttpRoute["answer"] = async (exchange, parameters) => {
    const body = Buffer.from(JSON.stringify(await read(exchange, parameters)));
    return { contentType: "application/json", body, headers: { "cache-control": "no-store" } };
  };
  return { method: "GET", path, kind: "read", isForOwnPage: true, answer };
}

/** The page's calls that change the server, for callers that may. */
function controlRoutes(service: InferenceService): readonly HttpRoute[] {
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
function liveRoutes(
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

/** `?after=N`: the newest that the page has. */
function readAfter(url = ""): number {
  const after = Number(new URL(url, "http://server").searchParams.get("after") ?? 0);
  return Number.isFinite(after) ? after : 0;
}

function permissionsOf(request: HttpExchange["request"], { policy }: HttpDependencies) {
  return { mayControl: mayControl(request, policy), mayWatch: mayWatch(request) };
}

function mayControl(request: HttpExchange["request"], policy: HttpDependencies["policy"]): boolean {
  try {
    policy.check("control", callerOf(request));
    currentScope()?.assertKind("control");
    return true;
  } catch {
    return false;
  }
}

/** Requests and the log are for people at this machine, and for those with a name who may know of all models. */
function mayWatch(request: HttpExchange["request"]): boolean {
  const scope = currentScope();
  if (scope !== undefined) return scope.user !== "" && scope.isWhole;
  return isLocalCaller(callerOf(request));
}

/** The OpenAPI document of the page: the calls of every protocol over HTTP, and those of every model that is ready. */
async function apiDocument({
  service,
  platform,
  settings,
}: Pick<HttpDependencies, "service" | "platform" | "settings">): Promise<OpenApiDocument> {
  const document = await openApiDocument(KSERVE_ENDPOINTS, service);
  const models = await describeAll(service);
  const all: readonly (readonly [protocol: string, paths: Paths])[] = [
    ["kserve", document.paths],
    ["tensorflow-serving", tensorflowPaths(models)],
    ["kibernetika", kibernetikaPaths(models)],
    ["openai", openaiPaths()],
    ["anthropic", anthropicPaths()],
    ["ollama", ollamaPaths()],
    ["sagemaker", sagemakerPaths(platform !== undefined)],
    ["simple-tensorflow-serving", simpleTensorflowServingPaths()],
    ["mcp", mcpPaths(settings.mcp)],
  ];
  const served = all.filter(([protocol]) => isChosenProtocol(protocol, settings.servedProtocols));
  const paths: Paths = {
    ...Object.assign({}, ...served.map(([, own]) => own)),
    ...endpointPaths("Server", [HEALTH_ENDPOINT, LLMS_ENDPOINT, METRICS_ENDPOINT]),
  };
  return { ...document, info: { ...document.info, title: "kserving" }, paths: withOwnIds(inOrder(paths)) };
}

/** Paths of the calls that most people make, in the order in which a reader is to find them. */
const FIRST = [/^\/v2\/models\/[^/{]+\/infer$/, /:predict$/, /^\/predict\//, /^\/v2\/models\/[^/{]+\/ready$/];
/** Those that clients of TensorFlow Serving's examples alone make. */
const LAST = /:(?:classify|regress)$/;

/** The paths with those of {@link FIRST} before all others; among equals the order stays. */
function inOrder(paths: Paths): Paths {
  const rankOf = (path: string) => {
    const found = FIRST.findIndex((pattern) => pattern.test(path));
    return found >= 0 ? found : FIRST.length + Number(LAST.test(path));
  };
  return Object.fromEntries(Object.entries(paths).sort(([a], [b]) => rankOf(a) - rankOf(b)));
}

const DONE: HttpAnswer = { contentType: "application/json", body: Buffer.from('{"done":true}') };

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
type PageFile = keyof typeof TYPES;

/** Names of the page's other files. */
const PAGE_FILES = (Object.keys(TYPES) as PageFile[]).filter((name) => name !== "index.html");

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
class PageFiles {
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
