import { currentScope } from "../../access/call-scope.ts";
import { isLocalCaller } from "../../access/control-access.ts";
import { callerOf } from "../../proxy/caller-of.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer, HttpDependencies, HttpRoute } from "../../proxy/http-route.ts";
import type { PageSources } from "../../proxy/page-sources.ts";
import { type Endpoint, endpointPaths, withOwnIds } from "../endpoint-paths.ts";
import { kibernetikaPaths } from "../kibernetika/openapi.ts";
import { describeAll } from "../kserve/describe-all.ts";
import { KSERVE_ENDPOINTS } from "../kserve/http-endpoints.ts";
import { type OpenApiDocument, openApiDocument } from "../kserve/openapi.ts";
import type { Protocol } from "../protocol.ts";
import { sagemakerPaths } from "../sagemaker/openapi.ts";
import { simpleTensorflowServingPaths } from "../simple-tensorflow-serving/openapi.ts";
import { tensorflowPaths } from "../tensorflow-serving/openapi.ts";
import { PAGE_FILES, type PageFile, PageFiles } from "./page-files.ts";
import { controlRoutes, exampleRoute, liveRoutes, readRoute } from "./page-routes.ts";
import { pageState } from "./page-state.ts";

/** The server's own page for people: its program at `/` and `/ui`, and what it asks for. */
export const page: Protocol = {
  name: "page",
  http: (dependencies) => {
    const { page: sources } = dependencies;
    return { inference: [], routes: sources === undefined ? [] : pageRoutes(dependencies, sources) };
  },
};

function pageRoutes(dependencies: HttpDependencies, sources: PageSources): readonly HttpRoute[] {
  const files = new PageFiles(sources.token.text);
  return [
    { ...fileRoute(files, "/", "index.html"), takes: ({ headers }) => headers.accept?.includes("text/html") === true },
    fileRoute(files, "/ui", "index.html"),
    fileRoute(files, "/docs", "index.html"),
    ...PAGE_FILES.map((name) => fileRoute(files, `/ui/${name}`, name)),
    ...controlRoutes(dependencies.service),
    ...liveRoutes(sources, mayWatch),
    exampleRoute(dependencies.service),
    readRoute("/docs/openapi.json", () => apiDocument(dependencies)),
    readRoute("/ui/models", ({ request }) =>
      pageState(dependencies.service, { ...permissionsOf(request, dependencies), token: sources.token.text }),
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

/** Endpoints of protocols that have no other. */
const OF_SERVER: readonly Endpoint[] = [
  {
    ...{ method: "GET", path: "/health", summary: "Tell whether requests can be answered" },
    schemas: {
      answer: { type: "object", required: ["status"], properties: { status: { enum: ["ok", "unavailable"] } } },
    },
  },
  { method: "GET", path: "/metrics", summary: "Get the metrics, for Prometheus", contentType: "text/plain" },
];

/** The OpenAPI document of the page: the calls of every protocol over HTTP, and those of every model that is ready. */
async function apiDocument({
  service,
  platform,
}: Pick<HttpDependencies, "service" | "platform">): Promise<OpenApiDocument> {
  const document = await openApiDocument(KSERVE_ENDPOINTS, service);
  const models = await describeAll(service);
  const paths = {
    ...tensorflowPaths(models),
    ...kibernetikaPaths(models),
    ...document.paths,
    ...sagemakerPaths(platform !== undefined),
    ...simpleTensorflowServingPaths(),
    ...endpointPaths("Server", OF_SERVER),
  };
  return { ...document, info: { ...document.info, title: "kserving" }, paths: withOwnIds(paths) };
}
