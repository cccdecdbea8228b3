import { failedPrecondition, invalidArgument, publicText, ServingError } from "../errors.ts";
import { kindOf } from "../platform/text/kind-of.ts";
import { didYouMean } from "../platform/text/nearest.ts";
import { isObject } from "../tensor/record.ts";
import { isHeaderText } from "./check-response.ts";
import type { RawRoute } from "./hooks.ts";
import type { RawCall, RawEntry, RawResult, RawStream } from "./raw-entry.ts";
import { partsOf } from "./raw-parts.ts";
import { RAW_METHODS, type RawMethod, type RawRequest } from "./raw-request.ts";
import { sealBody } from "./seal-body.ts";

const MEMBERS = ["path", "methods", "answer"];
/** The characters of a URL's path (RFC 3986), which is compared as it was sent. */
const PATH = /^\/[\w\-.~!$&'()*+,;=:@%/]{0,255}$/;

/** Name of the entry for a route: `POST /score`. */
function routeName(method: string, path: string): string {
  return `${method} ${path}`;
}

/**
 * The entries for the routes that a hook file declares, by method and path: `POST /score`. Throws `failed_precondition`
 * with the place, the given value and the expected one.
 */
export function routeEntries(declared: unknown, file: string): ReadonlyMap<string, RawEntry> {
  const entries = new Map<string, RawEntry>();
  const isList = Array.isArray(declared);
  for (const [index, route] of (isList ? declared : [declared]).entries()) {
    const place = isList ? `rawRequest[${index}]` : "rawRequest";
    const { path, methods, answer } = checkRoute(route, `${file}: ${place}`);
    for (const method of methods) {
      const name = routeName(method, path);
      if (entries.has(name)) throw failedPrecondition(`${file} declares the route ${name} twice; expected it once.`);
      entries.set(name, { place, call: (call, ctx) => answer.call(route, toRequest(call), ctx), seal: sealer(place) });
    }
  }
  return entries;
}

function checkRoute(route: unknown, place: string): Required<RawRoute> {
  if (!isObject(route)) {
    throw failedPrecondition(
      `${place} is ${kindOf(route)}; expected { path: "/score", methods: ["POST"], answer(request, ctx) { … } }.`,
    );
  }
  const { path, methods = ["POST"], answer } = route as Partial<RawRoute>;
  const unknown = Object.keys(route).find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined) {
    throw failedPrecondition(
      `${place} has "${unknown}"; expected ${MEMBERS.join(", ")}.${didYouMean(unknown, MEMBERS)}`,
    );
  }
  if (typeof path !== "string" || !PATH.test(path)) {
    const came = typeof path === "string" ? JSON.stringify(path) : kindOf(path);
    throw failedPrecondition(`${place}.path is ${came}; expected a URL's whole path, such as "/score".`);
  }
  if (typeof answer !== "function")
    throw failedPrecondition(`${place}.answer is ${kindOf(answer)}; expected a function of (request, ctx).`);
  return { path, methods: checkMethods(methods, place), answer };
}

function checkMethods(methods: unknown, place: string): readonly RawMethod[] {
  const known: readonly unknown[] = RAW_METHODS;
  const wrong = Array.isArray(methods) ? methods.findIndex((method) => !known.includes(method)) : -1;
  if (Array.isArray(methods) && methods.length > 0 && wrong === -1) return methods;
  const value: unknown = wrong === -1 ? methods : (methods as unknown[])[wrong];
  const came = typeof value === "string" && value !== "" ? `"${value}"` : kindOf(value);
  throw failedPrecondition(
    `${place}.methods${wrong === -1 ? "" : `[${wrong}]`} is ${came}; expected ${RAW_METHODS.join(", ")} in an array.`,
  );
}

function toRequest({ facts, headers, body }: RawCall): RawRequest {
  return {
    method: String(facts.method),
    path: String(facts.path),
    query: new URLSearchParams(String(facts.query)),
    headers,
    contentType: headers["content-type"] ?? "",
    accept: headers.accept ?? "",
    body,
    json: () => parseBody(body),
  };
}

function parseBody(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch (reason) {
    throw invalidArgument(`The body is not JSON: ${publicText(reason)}`, reason);
  }
}

const ANSWER_MEMBERS = ["status", "contentType", "body"];

function sealer(place: string): (returned: unknown) => RawResult | RawStream {
  const refuse = (what: string, expected: string) =>
    new ServingError("internal", `The hook ${place} answered ${what}; expected ${expected}.`);
  return (returned) => {
    if (typeof returned !== "object" || returned === null || ArrayBuffer.isView(returned)) {
      const missing = returned === undefined ? " (is a return, or an await, missing?)" : "";
      throw refuse(`${kindOf(returned)}${missing}`, "an object such as { status: 200, body: { score: 1 } }");
    }
    const alone = partsOf(returned);
    if (alone !== undefined) return { status: 200, contentType: undefined, open: alone };
    const { status = 200, contentType, body } = returned as { status?: unknown; contentType?: unknown; body?: unknown };
    const unknown = Object.keys(returned).find((name) => !ANSWER_MEMBERS.includes(name));
    if (unknown !== undefined) throw refuse(`the member ${unknown}`, ANSWER_MEMBERS.join(", "));
    if (!isStatus(status)) throw refuse(`the status ${String(status).slice(0, 100)}`, "a whole number from 200 to 599");
    if (contentType !== undefined && !isHeaderText(contentType))
      throw refuse("no media type as contentType", 'one such as "image/jpeg"');
    const open = partsOf(body);
    if (open !== undefined) return { status, contentType, open };
    const sealed = sealBody(body, `The body that the hook ${place} answered`);
    return { status, contentType: contentType ?? sealed.contentType, body: sealed.body };
  };
}

/** Checks for a status that ends a request. */
export function isStatus(status: unknown): status is number {
  return Number.isInteger(status) && (status as number) >= 200 && (status as number) <= 599;
}
