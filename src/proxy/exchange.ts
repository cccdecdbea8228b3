import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { ServingError } from "../errors.ts";
import type { InferRequest } from "../serving/inference-service.ts";
import { readBody } from "./read-body.ts";

/** One HTTP request as handlers see it. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly #maxMessageBytes: number;
  readonly #response: ServerResponse;
  readonly #controller = new AbortController();

  constructor(request: IncomingMessage, response: ServerResponse, maxMessageBytes: number) {
    this.request = request;
    this.#response = response;
    this.#maxMessageBytes = maxMessageBytes;
    response.once("close", () => {
      if (response.writableFinished) return;
      this.#controller.abort(new DOMException("The client closed the connection.", "AbortError"));
    });
  }

  /** Media type of the body, lower-case, without parameters; empty if the client does not say. */
  get mediaType(): string {
    const [type = ""] = (this.request.headers["content-type"] ?? "").split(";", 1);
    return type.trim().toLowerCase();
  }

  readBody(): Promise<Buffer> {
    return readBody(this.request, this.#maxMessageBytes);
  }

  /** What every inference call takes from the request itself. */
  callInfo(): Pick<InferRequest, "id" | "metadata" | "signal" | "deadline"> {
    const metadata = toMetadata(this.request);
    const id = metadata["x-request-id"] || randomUUID();
    const timeoutMs = parseTimeout(metadata[TIMEOUT_HEADER]);
    const { signal } = this.#controller;
    if (timeoutMs === undefined) return { id, metadata, signal };
    const expire = () => this.#controller.abort(new DOMException("The request's deadline passed.", "TimeoutError"));
    const timer = setTimeout(expire, timeoutMs);
    this.#response.once("close", () => clearTimeout(timer));
    return { id, metadata, signal, deadline: Date.now() + timeoutMs };
  }
}

/** How long a client waits, in milliseconds; HTTP has no word of its own for what gRPC calls a deadline. */
const TIMEOUT_HEADER = "x-request-timeout-ms";
/** The longest timer that there is. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

function parseTimeout(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text) && Number(text) <= MAX_TIMEOUT_MS) return Number(text);
  throw new ServingError("invalid_argument", `The header X-Request-Timeout-Ms is "${text}"; expected milliseconds.`);
}

function toMetadata({ headers }: IncomingMessage): Record<string, string> {
  const metadata: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) metadata[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return metadata;
}
