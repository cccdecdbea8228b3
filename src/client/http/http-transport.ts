import { type ErrorCode, invalidArgument, reasonText, ServingError, STATUS } from "../../errors.ts";
import { withoutEnd } from "../../platform/text/shorten.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import { answeredText, CallError, encryptionProblem, streamedError } from "../call-error.ts";
import type { ConnectOptions } from "../connect-options.ts";
import {
  type ModelAnswer,
  type ModelMetadata,
  type ModelName,
  type ModelRequest,
  readDecoupled,
  type Transport,
  type TransportCall,
} from "../transport.ts";
import { inferBody, JSON_BYTES, modelPath } from "./infer-body.ts";
import {
  EventReader,
  readAnswer,
  readExtensions,
  readIndex,
  readMetadata,
  readModels,
  readPart,
} from "./read-answer.ts";

/** The name by which a server says that it takes values as bytes. */
const BINARY_EXTENSION = "binary_tensor_data";

/** Adds to a `fetch` what a place needs. */
export type FetchGuard = (fetchOnce: typeof fetch) => typeof fetch;

/** KServe V2 over HTTP, by `fetch`. */
export class HttpTransport implements Transport {
  readonly address: string;
  readonly #base: URL;
  readonly #fetch: typeof fetch;
  #isBinary: Promise<boolean> | undefined;

  /** `address`: with the path before `/v2`, if there is one. Throws `invalid_argument` for one with a user. */
  constructor(
    address: string,
    { fetch: given }: Pick<ConnectOptions, "fetch">,
    guard: FetchGuard = (fetchOnce) => fetchOnce,
  ) {
    this.#base = new URL(`${withoutEnd(address, "/")}/`);
    if (this.#base.username !== "")
      throw invalidArgument("The address has a user; give connect() { credentials: { user, password } } instead.");
    this.address = this.#base.href.replace(/\/$/, "");
    // Called as a method of anything else, a browser's throws.
    this.#fetch = given ?? guard((...call) => fetch(...call));
  }

  async infer(request: ModelRequest, call: TransportCall): Promise<ModelAnswer> {
    const response = await this.#post("infer", request, call);
    const bytes = new Uint8Array(await this.#read(response.arrayBuffer()));
    const answer = this.#understand(() => readAnswer(bytes, response.headers.get(JSON_BYTES)));
    return { ...answer, metadata: Object.fromEntries(response.headers) };
  }

  /** By MLServer's `infer_stream`: Server-Sent Events, each a part. */
  async *parts(request: ModelRequest, call: TransportCall): AsyncGenerator<Tensors, void, undefined> {
    const { body, headers } = await this.#post("infer_stream", request, call);
    const type = `${headers.get("content-type")}`;
    const events = this.#understand(() => new EventReader(body, type));
    try {
      for (;;) {
        const event = await this.#read(events.next());
        if (event === undefined) return;
        const { outputs, failure } = this.#understand(() => readPart(event));
        if (failure !== undefined) throw streamedError(this.address, failure);
        yield outputs;
      }
    } finally {
      await events.cancel();
    }
  }

  describe(name: ModelName, call: TransportCall): Promise<ModelMetadata> {
    return this.#askJson(modelPath(name), call, readMetadata);
  }

  isDecoupled(name: ModelName, call: TransportCall): Promise<boolean> {
    return readDecoupled(this.#askJson(`${modelPath(name)}/config`, call, (json) => json));
  }

  /** By the repository's index, or, if a server has none, by its list of models. */
  async list(call: TransportCall): Promise<readonly string[]> {
    const body = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
    try {
      return await this.#askJson("v2/repository/index", call, readIndex, body);
    } catch (reason) {
      if (ServingError.from(reason).code !== "not_found") throw reason;
      return this.#askJson("v2/models", call, readModels);
    }
  }

  async isReady(name: ModelName | undefined, call: TransportCall): Promise<boolean> {
    const path = name === undefined ? "v2/health/ready" : `${modelPath(name)}/ready`;
    try {
      await (await this.#ask(path, call)).arrayBuffer();
      return true;
    } catch (reason) {
      const { status } = reason as { readonly status?: number };
      if (status === 400 || status === 503 || (name !== undefined && status === 404)) return false;
      throw reason;
    }
  }

  close(): void {}

  /** Asked once; a server that does not say so is sent JSON. */
  #takesBinary(call: TransportCall): Promise<boolean> {
    this.#isBinary ??= this.#askJson("v2", call, (json) => readExtensions(json).includes(BINARY_EXTENSION));
    const asked = this.#isBinary;
    asked.catch(() => {
      if (this.#isBinary === asked) this.#isBinary = undefined;
    });
    return asked;
  }

  async #post(method: string, request: ModelRequest, call: TransportCall): Promise<Response> {
    const { headers, body } = inferBody(request, await this.#takesBinary(call));
    return this.#ask(`${modelPath(request)}/${method}`, call, { method: "POST", headers, body });
  }

  async #askJson<Answer>(
    path: string,
    call: TransportCall,
    read: (json: unknown) => Answer,
    init: RequestInit = {},
  ): Promise<Answer> {
    const response = await this.#ask(path, call, init);
    const text = await this.#read(response.text());
    return this.#understand(() => read(JSON.parse(text)));
  }

  async #ask(path: string, { signal, deadline, metadata }: TransportCall, init: RequestInit = {}): Promise<Response> {
    const left = deadline === undefined ? {} : { "x-request-timeout-ms": String(Math.max(1, deadline - Date.now())) };
    const request = { ...init, signal, headers: { ...metadata, ...left, ...init.headers } };
    const response = await this.#fetch(new URL(path, this.#base), request).catch((reason) => {
      throw unansweredError(this.address, reason);
    });
    if (response.ok) return response;
    throw await failedAnswer(this.address, response);
  }

  /** An answer that breaks off may be of a model that ran. */
  #read<Body>(body: Promise<Body>): Promise<Body> {
    return body.catch((cause) => {
      if (cause instanceof ServingError)
        throw new CallError(cause.code, `The answer of ${this.address} cannot be read: ${cause.message}.`, { cause });
      const text = `${this.address} broke off its answer: ${reasonText(cause)}. Send the call again if it may run twice.`;
      throw new CallError("unavailable", text, { cause });
    });
  }

  #understand<Answer>(read: () => Answer): Answer {
    try {
      return read();
    } catch (cause) {
      const text = `The answer of ${this.address} is not KServe V2's: ${reasonText(cause)}. See whether the address is that of such a server.`;
      throw new CallError("internal", text, { cause });
    }
  }
}

/** Statuses that the table of codes lacks. */
const OTHER_CODES: Readonly<Record<number, ErrorCode>> = {
  405: "unimplemented",
  408: "deadline_exceeded",
  413: "resource_exhausted",
  502: "unavailable",
};
const MAX_TEXT = 500;

/** The error of an answer that reports a failure. */
async function failedAnswer(address: string, response: Response): Promise<CallError> {
  const { status } = response;
  const text = await response.text().catch(() => "");
  const serverText = textOf(text) ?? `${response.statusText || "no reason"}`;
  const code = codeOf(status);
  const retryAfter = response.headers.get("retry-after");
  return new CallError(code, answeredText(address, `${status}: ${serverText}`, code), {
    status,
    serverText,
    // A 503 without it may come from something between, after the model ran.
    isSafeToRetry: status === 503 && retryAfter !== null,
    retryAfterMs: retryAfter === null ? undefined : delayOf(retryAfter),
  });
}

const START = "Start a server there with --http-enable, or correct the address.";
/** Web pages and their workers learn no reason. */
const ORIGIN =
  "document" in globalThis || "importScripts" in globalThis
    ? "; it must allow the origin of this page (--cors-origin)"
    : "";
const LOOK = `See whether the address is right and the server runs, and encrypted (https://) or not${ORIGIN}.`;
/** A server of TLS 1.3 may refuse a client without a certificate after the handshake, by which the reason is lost. */
const CLOSED = "See whether the server runs, and whether it asks its clients for a certificate.";

/** The error of a request without an answer, by what `fetch` rejected with. */
function unansweredError(address: string, reason: unknown): CallError {
  const text = causeText(reason);
  const isUnsent = /refused/i.test(text) || /ECONNREFUSED/.test(codesOf(reason));
  const encryption = encryptionProblem(text, "http");
  const look = /other side closed|ECONNRESET|EPIPE/.test(text) && address.startsWith("https:") ? CLOSED : LOOK;
  const advice = encryption?.advice ?? (isUnsent ? START : look);
  const message = `${address} cannot be reached: ${encryption?.meaning ?? withoutEnd(text.trimEnd(), ". ")}. ${advice}`;
  return new CallError("unavailable", message, { cause: reason, isSafeToRetry: isUnsent });
}

function codeOf(status: number): ErrorCode {
  const codes = Object.keys(STATUS) as ErrorCode[];
  const exact = OTHER_CODES[status] ?? codes.find((code) => STATUS[code].http === status);
  return exact ?? (status < 500 ? "invalid_argument" : "unknown");
}

/**
 * `error` of JSON, as kserving and Triton have it, or `detail`, as servers in Python
 * do; else the beginning of a short text.
 */
function textOf(text: string): string | undefined {
  try {
    const { error, detail } = JSON.parse(text) as { error?: unknown; detail?: unknown };
    const own = error ?? detail;
    return own === undefined ? text.slice(0, MAX_TEXT) : typeof own === "string" ? own : JSON.stringify(own);
  } catch {
    const isPage = /^\s*</.test(text);
    if (isPage) return "a page instead of JSON, so this may be the address of something else";
    return text.trim() === "" ? undefined : text.trim().slice(0, MAX_TEXT);
  }
}

/** Seconds, or a date. */
function delayOf(retryAfter: string): number | undefined {
  const ms = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** The reason itself: Node's `fetch` wraps it in "fetch failed". */
function causeText(reason: unknown): string {
  const { cause } = reason as { cause?: unknown };
  if (cause === undefined) return reasonText(reason);
  return cause instanceof AggregateError ? reasonText(cause.errors[0]) : reasonText(cause);
}

function codesOf(reason: unknown): string {
  const { code, cause } = (reason ?? {}) as { code?: unknown; cause?: { code?: unknown } };
  return `${code} ${cause?.code}`;
}
