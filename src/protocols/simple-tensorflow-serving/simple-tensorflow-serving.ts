import type { IncomingMessage } from "node:http";
import type { AccessPolicy } from "../../access/access-policy.ts";
import { failedPrecondition, invalidArgument } from "../../errors.ts";
import { toAuthority } from "../../platform/net/listen.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer, HttpRoute, PathParameters } from "../../proxy/http-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import type { DType } from "../../tensor/dtype.ts";
import { chooseSignature } from "../../tensor/signature/choose-signature.ts";
import { type Dimension, knownInputs, type Signature } from "../../tensor/signature/signature.ts";
import { readVersion } from "../../version.ts";
import { type Endpoint, endpointPaths, type Paths } from "../endpoint-paths.ts";
import type { Protocol } from "../protocol.ts";
import type { CLIENTS, ClientLanguage } from "./clients.ts";

const ROOT = /^\/(?:\?|$)/;

/** Simple TensorFlow Serving's front door: `POST /` with JSON or a form, and generated clients. */
export const simpleTensorflowServing: Protocol = {
  name: "simple-tensorflow-serving",
  http: ({ service, policy }) => ({
    inference: [
      {
        path: "/",
        find: (url) => (ROOT.test(url) ? (exchange) => infer(service, exchange) : undefined),
      },
    ],
    routes: [indexRoute(service), ...clientRoutes(service, policy)],
  }),
};

/** Most servers have no such clients: the code is imported with the first. */
async function infer(service: InferenceService, exchange: HttpExchange): Promise<HttpAnswer> {
  const { answerInference } = await import("./answer-inference.ts");
  return answerInference(service, exchange);
}

/** Lists the models in plain text, where the original has its dashboard. */
function indexRoute(service: InferenceService): HttpRoute {
  const answer: HttpRoute["answer"] = async () => {
    const models = service.index().map(({ model, version, state }) => `${model} ${version} ${state}\n`);
    const text = `kserving ${readVersion()}\n${models.join("")}POST / runs a model: docs/simple-tensorflow-serving.md\n`;
    return { contentType: "text/plain; charset=utf-8", body: Buffer.from(text) };
  };
  return { method: "GET", path: "/", kind: "read", answer };
}

const MODEL = "/v1/models/:name";
const DEFAULT_LANGUAGE = "bash";

/** The routes that give an example of a request to a model, and programs that send it. */
function clientRoutes(service: InferenceService, policy: Pick<AccessPolicy, "isProxy">): readonly HttpRoute[] {
  const answerJson = async ({ name = "" }: PathParameters) => toJson(await exampleOf(service, name));
  const answerClient = async (exchange: HttpExchange, parameters: PathParameters): Promise<HttpAnswer> => {
    const { CLIENTS: clients } = await import("./clients.ts");
    const language = languageOf(exchange.request.url ?? "", clients);
    if (language === "json") return answerJson(parameters);
    const { name = "" } = parameters;
    const json = `{"model_name": ${plainJsonText(name)}, "data": ${await exampleOf(service, name)}}`;
    const program = clients[language]({ endpoint: endpointOf(exchange.request, policy), json });
    return { contentType: "text/plain; charset=utf-8", body: Buffer.from(program) };
  };
  return [
    { method: "GET", path: `${MODEL}/gen_json`, kind: "read", answer: (_, parameters) => answerJson(parameters) },
    { method: "GET", path: `${MODEL}/gen_client`, kind: "read", answer: answerClient },
  ];
}

async function exampleOf(service: InferenceService, model: string): Promise<string> {
  const lease = await service.acquire({ model });
  lease.release();
  return exampleData(chooseSignature("", lease.description.signatures)?.spec ?? {});
}

function toJson(data: string): HttpAnswer {
  return { contentType: "application/json", body: Buffer.from(`{"data": ${data}}\n`) };
}

function languageOf(url: string, clients: typeof CLIENTS): ClientLanguage | "json" {
  const languages = [...Object.keys(clients), "json"];
  const query = new URLSearchParams(url.includes("?") ? url.slice(url.indexOf("?")) : "");
  const language = query.get("language") ?? DEFAULT_LANGUAGE;
  if (languages.includes(language)) return language as ClientLanguage | "json";
  throw invalidArgument(`The language is "${language}"; expected ${languages.join(", ")}.`);
}

const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

/**
 * The URL of `POST /` at the address under which a request came, for a generated program. A `Host` with other
 * characters than names and addresses have gives way to the connection's own address; that a request has come by TLS
 * is believed of proxies that are trusted.
 */
function endpointOf(
  { headers, socket }: Pick<IncomingMessage, "headers" | "socket">,
  policy: Pick<AccessPolicy, "isProxy">,
): string {
  const { remoteAddress = "unix:" } = socket;
  const isForwarded = headers["x-forwarded-proto"] === "https" && policy.isProxy(remoteAddress);
  const isEncrypted = "encrypted" in socket || isForwarded;
  const { localAddress = "127.0.0.1", localPort = 80 } = socket;
  const own = toAuthority(localAddress.replace(/^::ffff:/, ""), localPort);
  const host = HOST.test(headers.host ?? "") ? headers.host : own;
  return `${isEncrypted ? "https" : "http"}://${host}/`;
}

/** Size of an open dimension, as in the original. */
const OPEN_SIZE = 2;
/** Values of an example at most: a program with more is nothing that anybody reads. */
const MAX_VALUES = 1_000_000;

/**
 * JSON of an object with a value for each input of a signature: ones, true, or empty texts,
 * in every open dimension two of them. Its characters are those of {@link plainJsonText}.
 * Throws `failed_precondition` for inputs that are not known or too large.
 */
function exampleData(signature: Signature): string {
  const specs = knownInputs(signature);
  if (specs === undefined) {
    throw failedPrecondition("The model does not say which inputs it takes, so that there is no example of a request.");
  }
  const shapes = specs.map(({ shape = [-1] }) => shape.map(toSize));
  // Lists without elements are written too.
  const values = shapes.reduce(
    (sum, shape) => sum + shape.reduce((product, size) => product * Math.max(size, 1), 1),
    0,
  );
  if (values > MAX_VALUES) {
    throw failedPrecondition(`An example of a request would have ${values} values; at most ${MAX_VALUES} are written.`);
  }
  const members = specs.map(
    ({ name, dtype }, index) => `${plainJsonText(name)}: ${nested(textOfOne(dtype), shapes[index] ?? [])}`,
  );
  return `{${members.join(", ")}}`;
}

function toSize(dimension: Dimension): number {
  if (typeof dimension !== "number") return Math.min(Math.max(OPEN_SIZE, dimension.min), dimension.max);
  return dimension < 0 ? OPEN_SIZE : dimension;
}

function textOfOne(dtype: DType | undefined): string {
  if (dtype === "bool") return "true";
  if (dtype === "bytes") return '""';
  return dtype !== undefined && /float/.test(dtype) ? "1.0" : "1";
}

function nested(value: string, shape: readonly number[]): string {
  return shape.reduceRight((inner, size) => `[${new Array<string>(size).fill(inner).join(", ")}]`, value);
}

/**
 * A text as a JSON string of letters, digits, spaces, points, hyphens and underscores; every other character is
 * `\uXXXX`. So JSON of such texts holds no character but these and `{}[]":,\`, and can stand in a program of any
 * language where none of them has a meaning, whatever names clients and files have chosen.
 */
export function plainJsonText(text: string): string {
  const escaped = text.replace(/[^A-Za-z0-9 ._-]/g, (unit) =>
    Array.from({ length: unit.length }, (_, at) => `\\u${unit.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
  );
  return `"${escaped}"`;
}

const ENDPOINTS: readonly Endpoint[] = [
  {
    ...{ method: "POST", path: "/", summary: "Run the model that the body names" },
    description: "The same path takes forms, with files in the fields image and images.",
    schemas: {
      body: {
        type: "object",
        required: ["data"],
        properties: {
          model_name: { type: "string", description: "Default: the model default, or the only one" },
          model_version: { type: ["integer", "string"] },
          signature_name: { type: "string" },
          data: { description: "An object with a value for each input, or the value of the only one" },
        },
      },
      answer: { type: "object" },
    },
  },
  {
    ...{ method: "GET", path: "/v1/models/{name}/gen_json", summary: "Make an example of a request's data" },
    schemas: { answer: { type: "object", required: ["data"], properties: { data: { type: "object" } } } },
  },
  {
    ...{ method: "GET", path: "/v1/models/{name}/gen_client", summary: "Make a program that sends such a request" },
    description: "?language= is bash (default), python, golang, javascript, typescript, java or json.",
    contentType: "text/plain",
  },
];

/** Paths of OpenAPI for Simple TensorFlow Serving. */
export function simpleTensorflowServingPaths(): Paths {
  return endpointPaths("Simple TensorFlow Serving", ENDPOINTS);
}
