import { createHash } from "node:crypto";

/** Operations of OpenAPI by path and method. */
export type Paths = Record<string, Readonly<Record<string, object>>>;

/** JSON schemas of an endpoint's body and answer; absent members have no schema. */
export interface EndpointSchemas {
  readonly body?: object;
  readonly answer?: object;
}

/** An endpoint that belongs to no model, in OpenAPI. */
export interface Endpoint {
  readonly method: string;
  /** With `{name}` for each parameter. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  /** True if the answer is only a status. */
  readonly isEmpty?: boolean;
  /** Statuses of success; default 200 alone. */
  readonly statuses?: readonly number[];
  /** The body's media type; default JSON. */
  readonly bodyType?: string;
  /** The answer's media type; default JSON. */
  readonly contentType?: string;
  readonly schemas?: EndpointSchemas;
}

/** Paths of OpenAPI for the endpoints of one protocol, which is their tag. */
export function endpointPaths(tag: string, endpoints: readonly Endpoint[]): Paths {
  const paths: Paths = {};
  for (const endpoint of endpoints) {
    const method = endpoint.method.toLowerCase();
    paths[endpoint.path] = { ...paths[endpoint.path], [method]: operation(tag, endpoint) };
  }
  return paths;
}

function operation(tag: string, endpoint: Endpoint): object {
  const { method, path, summary, description, statuses = [200] } = endpoint;
  const { bodyType = "application/json", schemas: { body = { type: "object" } } = {} } = endpoint;
  const content = { [bodyType]: { schema: body } };
  const answer = { description: "It is so.", ...answerContent(endpoint) };
  return {
    ...{ summary, tags: [tag], operationId: operationIdOf(method, path), parameters: pathParameters(path) },
    ...(description !== undefined && { description }),
    ...(method === "POST" && { requestBody: { required: false, content } }),
    responses: { ...Object.fromEntries(statuses.map((status) => [status, answer])), ...refusals() },
  };
}

function answerContent({ isEmpty, contentType = "application/json", schemas: { answer = {} } = {} }: Endpoint): object {
  return isEmpty ? {} : { content: { [contentType]: { schema: answer } } };
}

/**
 * A name for generated clients: `post_v2_models_name_infer`, with the percent signs of other characters as underscores.
 */
function operationIdOf(method: string, path: string): string {
  return `${method.toLowerCase()}${path.replace(/[{}]/g, "").replace(/[^A-Za-z0-9]/g, "_")}`;
}

/**
 * The id of an operation of one model, the same whatever other models there are: `infer_iris`. A name with other
 * characters than letters, digits and `_` has a hash behind it, since a-b and a_b may both be there.
 */
export function modelOperationId(verb: string, model: string): string {
  const plain = model.replace(/[^A-Za-z0-9_]/g, "_");
  if (plain === model) return `${verb}_${model}`;
  return `${verb}_${plain}_${createHash("sha256").update(model).digest("hex").slice(0, 8)}`;
}

/** The paths, with a number behind the id of an operation that one before has. */
export function withOwnIds(paths: Paths): Paths {
  const taken = new Set<unknown>();
  const counts = new Map<string, number>();
  const toOwn = (id: string): string => {
    for (let count = (counts.get(id) ?? 0) + 1; ; count++) {
      counts.set(id, count);
      const own = count === 1 ? id : `${id}_${count}`;
      if (!taken.has(own)) return own;
    }
  };
  const named = Object.entries(paths).map(([path, methods]) => {
    const own = Object.entries(methods as Record<string, { operationId: string }>).map(([method, operation]) => {
      const operationId = toOwn(operation.operationId);
      taken.add(operationId);
      return [method, { ...operation, operationId }];
    });
    return [path, Object.fromEntries(own)];
  });
  return Object.fromEntries(named);
}

function pathParameters(path: string): object[] {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
  return names.map((name) => ({ name, in: "path", required: true, schema: { type: "string", minLength: 1 } }));
}

/** The body of a request in OpenAPI; its example is made of types and shapes, and of what was saved with the model. */
export function jsonBody(schema: object, example?: object): object {
  const description = "The example is a guess of the right types and shapes; it has not been run.";
  return { required: true, ...(example !== undefined && { description }), content: jsonContent(schema, example) };
}

/** A body of JSON, in OpenAPI, with a value that is one. */
export function jsonContent(schema: object, example?: object): object {
  return { "application/json": { schema, ...(example !== undefined && { example }) } };
}

/** Statuses of errors of any endpoint. */
const REFUSALS: Readonly<Record<string, string>> = {
  400: "The request is wrong; the error says where, and what is expected.",
  401: "The caller is not known, and has to be.",
  403: "The caller may not make this call.",
  404: "There is no such model or version.",
  413: "The body is larger than the server takes.",
  415: "The body is compressed in a way that the server does not know.",
  429: "The model has no memory left for this request.",
  501: "This server cannot do it, or it is a proxy and the call is for the server behind it.",
  503: "The server has too much to do, or is being changed; try again.",
  504: "The request's time was up.",
};

/** Answers of any operation that are errors. */
export function refusals(): object {
  const content = jsonContent({ $ref: "#/components/schemas/Error" });
  return Object.fromEntries(
    Object.entries(REFUSALS).map(([status, description]) => [status, { description, content }]),
  );
}
