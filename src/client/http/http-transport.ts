import { invalidArgument, reasonText, ServingError } from "../../errors.ts";
import { withoutEnd } from "../../text/without-end.ts";
import { CallError } from "../call-error.ts";
import type { ConnectOptions } from "../connect-options.ts";
import type { ModelAnswer, ModelMetadata, ModelName, ModelRequest, Transport, TransportCall } from "../transport.ts";
import { failedAnswer, unansweredError } from "./http-failure.ts";
import { inferBody, JSON_BYTES, modelPath } from "./infer-body.ts";
import { readAnswer, readExtensions, readIndex, readMetadata, readModels } from "./read-answer.ts";

/** The name by which a server says that it takes values as bytes. */
const BINARY_EXTENSION = "binary_tensor_data";

/** KServe V2 over HTTP, by `fetch`. */
export class HttpTransport implements Transport {
  readonly address: string;
  readonly #base: URL;
  readonly #fetch: typeof fetch;
  #isBinary: Promise<boolean> | undefined;

  /** `address`: with the path before `/v2`, if there is one. Throws `invalid_argument` for one with a user. */
  constructor(address: string, { fetch: given }: Pick<ConnectOptions, "fetch">) {
    this.#base = new URL(`${withoutEnd(address, "/")}/`);
    if (this.#base.username !== "")
      throw invalidArgument("The address has a user; give connect() { credentials: { user, password } } instead.");
    this.address = this.#base.href.replace(/\/$/, "");
    // Called as a method of anything else, a browser's throws.
    this.#fetch = given ?? ((...call) => fetch(...call));
  }

  async infer(request: ModelRequest, call: TransportCall): Promise<ModelAnswer> {
    const { headers, body } = inferBody(request, await this.#takesBinary(call));
    const response = await this.#ask(`${modelPath(request)}/infer`, call, { method: "POST", headers, body });
    const bytes = new Uint8Array(await this.#read(response.arrayBuffer()));
    const answer = this.#understand(() => readAnswer(bytes, response.headers.get(JSON_BYTES)));
    return { ...answer, metadata: Object.fromEntries(response.headers) };
  }

  describe(name: ModelName, call: TransportCall): Promise<ModelMetadata> {
    return this.#askJson(modelPath(name), call, readMetadata);
  }

  /** By the repository's index, or, where a server has none, by its list of models. */
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
