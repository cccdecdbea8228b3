import { basename } from "node:path";
import { currentScope } from "../../access/call-scope.ts";
import { isLocalCaller } from "../../access/control-access.ts";
import { callerOf } from "../../proxy/caller-of.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer, HttpDependencies, HttpRoute } from "../../proxy/http-route.ts";
import type { PageSources } from "../../proxy/page-sources.ts";
import type { InferenceService, ServableState } from "../../serving/inference-service.ts";
import { maxBatchSize, type ServableDescription } from "../../serving/servable-description.ts";
import {
  defaultSignatureName,
  type KnownInput,
  knownInputs,
  type Signature,
  takesImages,
  toSize,
} from "../../tensor/signature/signature.ts";
import { readVersion } from "../../version.ts";
import { endpointPaths, withOwnIds } from "../endpoint-paths.ts";
import { HEALTH_ENDPOINT } from "../http-standard/http-standard.ts";
import { kibernetikaPaths } from "../kibernetika/kibernetika.ts";
import { datatypeOf } from "../kserve/datatype.ts";
import { describeAll } from "../kserve/describe-all.ts";
import { KSERVE_ENDPOINTS } from "../kserve/http-endpoints.ts";
import { type OpenApiDocument, openApiDocument } from "../kserve/openapi.ts";
import { METRICS_ENDPOINT } from "../prometheus/prometheus.ts";
import type { Protocol } from "../protocol.ts";
import { sagemakerPaths } from "../sagemaker/sagemaker.ts";
import { simpleTensorflowServingPaths } from "../simple-tensorflow-serving/simple-tensorflow-serving.ts";
import { tensorflowPaths } from "../tensorflow-serving/openapi.ts";
import type { PageSignature, PageStage, PageState, PageTensor, PageVersion } from "./page-data.ts";
import {
  controlRoutes,
  exampleRoute,
  liveRoutes,
  PAGE_FILES,
  type PageFile,
  PageFiles,
  readRoute,
} from "./page-routes.ts";

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
    ...endpointPaths("Server", [HEALTH_ENDPOINT, METRICS_ENDPOINT]),
  };
  return { ...document, info: { ...document.info, title: "kserving" }, paths: withOwnIds(paths) };
}

type StageFacts = NonNullable<ServableDescription["models"]>[number];

/** Every version of every model that the caller may know of. */
async function pageState(
  service: InferenceService,
  ofPage: Pick<PageState, "mayControl" | "mayWatch" | "token">,
): Promise<PageState> {
  const states = service.index({ loadable: true });
  const models = await Promise.all(states.map((state) => toVersion(service, state)));
  return { version: readVersion(), user: currentScope()?.user ?? "", ...ofPage, models };
}

async function toVersion(service: InferenceService, state: ServableState): Promise<PageVersion> {
  const { model, version, isReady, labels, unavailableReason, error } = state;
  const description = await describe(service, state);
  const { models = [], hooks, signatures = {} } = description ?? {};
  const first = defaultSignatureName(signatures);
  const names = Object.keys(signatures).toSorted((a, b) => Number(b === first) - Number(a === first));
  return {
    model,
    version: String(version),
    state: state.state,
    isReady,
    reason: error?.message ?? unavailableReason,
    labels,
    stages: models.map(toStage),
    hooks: hooks?.hookPlaces ?? [],
    maxBatchSize: description === undefined ? 0 : maxBatchSize(description),
    signatures: names.map((name) => toSignature(name, signatures[name] ?? {})),
  };
}

/** Undefined for a version that is not available, or not any more. */
async function describe(
  service: InferenceService,
  { model, version, state }: ServableState,
): Promise<ServableDescription | undefined> {
  if (state !== "AVAILABLE") return undefined;
  try {
    const lease = await service.acquire({ model, version });
    lease.release();
    return lease.description;
  } catch {
    return undefined;
  }
}

function toStage({ driver, path, runtime = "", loadMs, memoryBytes }: StageFacts): PageStage {
  return { driver, file: basename(path), runtime, loadMs, memoryBytes };
}

function toSignature(name: string, signature: Signature): PageSignature {
  return { name, inputs: knownInputs(signature)?.map(toTensor), outputs: signature.outputs?.map(toTensor) };
}

function toTensor(spec: KnownInput): PageTensor {
  const { name, dtype, shape, labels, default: value } = spec;
  return {
    name,
    datatype: dtype === undefined ? "" : (datatypeOf(dtype)?.name ?? dtype),
    shape: shape?.map(toSize),
    takesImages: dtype !== undefined && takesImages({ ...spec, dtype }),
    isOptional: value !== undefined,
    labels,
  };
}
