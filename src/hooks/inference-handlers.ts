import { failedPrecondition, ServingError } from "../errors.ts";
import { kindOf } from "../platform/text/kind-of.ts";
import { isHeaderText } from "./check-response.ts";
import type { RawCall, RawEntry, RawResult, RawStream } from "./raw-entry.ts";
import { partsOf } from "./raw-parts.ts";
import { sealBody } from "./seal-body.ts";

/** Names of the handlers, which are also those of their entries. */
const HANDLERS = ["handler", "input_handler", "output_handler"] as const;
type HandlerName = (typeof HANDLERS)[number];

const INFERENCE_FILE = /(?:^|[/\\])inference\.[cm]?[jt]s$/;

/** Checks for a file of SageMaker's handlers: by its name, unless it exports none of them and is a hook file. */
export function isInferenceFile(file: string, exports: object, isHookFile: boolean): boolean {
  return INFERENCE_FILE.test(file) && (!isHookFile || HANDLERS.some((name) => name in exports));
}

/**
 * The entries of a module with `handler`, or with `input_handler` and `output_handler`; with all three, `handler`
 * alone, as in SageMaker's container. Throws `failed_precondition` for one of the pair
 * alone, and for anything but functions.
 */
export function inferenceEntries(
  exports: Readonly<Record<string, unknown>>,
  file: string,
): ReadonlyMap<string, RawEntry> {
  const wanted: readonly HandlerName[] =
    exports.handler !== undefined ? ["handler"] : ["input_handler", "output_handler"];
  const wrong = wanted.find((name) => typeof exports[name] !== "function");
  if (wrong !== undefined) {
    throw failedPrecondition(
      `${file}: ${wrong} is ${kindOf(exports[wrong])}; expected the functions input_handler(data, context) and output_handler(response, context), or handler(data, context).`,
    );
  }
  return new Map(wanted.map((name) => [name, toEntry(name, exports[name] as Handler)]));
}

type Handler = (given: InferenceData | InferenceResponse, context: InferenceContext) => unknown;

function toEntry(name: HandlerName, handler: Handler): RawEntry {
  const given = name === "output_handler" ? toResponse : ({ body }: RawCall) => new BodyReader(body);
  return {
    place: name,
    call: (call) => handler(given(call), toContext(call)),
    seal: (returned) => (name === "input_handler" ? sealInput(returned) : sealAnswer(returned, name)),
  };
}

class BodyReader implements InferenceData {
  readonly #body: Buffer;
  #at = 0;

  constructor(body: Buffer) {
    this.#body = body;
  }

  read(size = this.#body.length): Buffer {
    const start = this.#at;
    this.#at = Math.min(this.#body.length, start + (size < 0 ? this.#body.length : size));
    return this.#body.subarray(start, this.#at);
  }
}

function toResponse({ facts, body }: RawCall): InferenceResponse {
  return {
    status_code: Number(facts.status_code),
    content: body,
    get text() {
      return body.toString();
    },
    json: () => JSON.parse(body.toString()),
  };
}

function toContext({ facts: { status_code: _, ...context } }: RawCall): InferenceContext {
  return { ...context, channel: null } as unknown as InferenceContext;
}

/** The body for the model's REST API. */
function sealInput(returned: unknown): RawResult {
  if (typeof returned === "string" || returned instanceof Uint8Array) {
    return { status: 200, ...sealBody(returned, "") };
  }
  throw new ServingError(
    "internal",
    `The hook input_handler returned ${kindOf(returned)}; expected the request for the model as a text or bytes, such as JSON.stringify({ instances }).`,
  );
}

/** A body and its media type, or the parts of one. */
function sealAnswer(returned: unknown, name: HandlerName): RawResult | RawStream {
  const alone = partsOf(returned);
  if (alone !== undefined) return { status: 200, contentType: undefined, open: alone };
  const [body, contentType] = Array.isArray(returned) ? (returned as readonly unknown[]) : [];
  const open = partsOf(body);
  if (open !== undefined && isHeaderText(contentType)) return { status: 200, contentType, open };
  const isBody = typeof body === "string" || body instanceof Uint8Array;
  if (Array.isArray(returned) && returned.length === 2 && isBody && isHeaderText(contentType)) {
    return { status: 200, contentType, body: sealBody(body, "").body };
  }
  const came = Array.isArray(returned)
    ? `an array of ${returned.map(kindOf).join(", ") || "nothing"}`
    : kindOf(returned);
  throw new ServingError(
    "internal",
    `The hook ${name} returned ${came}; expected an array of a body (a text or bytes) and its content type: [body, context.accept_header].`,
  );
}

/** Body of a request of SageMaker, as `handler` and `input_handler` get it. */
export interface InferenceData {
  /** The next bytes of the body, by default all that are left. */
  read(size?: number): Buffer;
}

/** The second argument of SageMaker's handlers; null = the request does not say. */
export interface InferenceContext {
  readonly model_name: string | null;
  readonly model_version: string | null;
  /** `predict`, `classify` or `regress`. */
  readonly method: string | null;
  /** URL of the model's REST API in this server. */
  readonly rest_uri: string;
  /** gRPC port of this server. */
  readonly grpc_port: string;
  /** Always null: open one to {@link grpc_port}. */
  readonly channel: null;
  /** The header `X-Amzn-SageMaker-Custom-Attributes`. */
  readonly custom_attributes: string | null;
  /** Default `application/json`. */
  readonly request_content_type: string;
  /** Default `application/json`. */
  readonly accept_header: string;
  readonly content_length: number | null;
}

/** Answer of the model, as `output_handler` gets it. */
export interface InferenceResponse {
  readonly status_code: number;
  readonly content: Buffer;
  readonly text: string;
  json(): unknown;
}
