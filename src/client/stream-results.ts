import { CallError } from "./call-error.ts";
import type { ModelRequest, StreamAnswer } from "./transport.ts";
import type { TypedModel } from "./typed-model.ts";

/** The result of one request of a stream. */
export type StreamResult<Outputs> =
  /** Place of the request among those that were sent, from 0. */
  | { readonly index: number; readonly outputs: Outputs; readonly error?: undefined }
  | { readonly index: number; readonly outputs?: undefined; readonly error: CallError };

interface StreamedRequests<M extends TypedModel> {
  /** The server's, for errors. */
  readonly address: string;
  readonly requests: AsyncIterable<M["inputs"]> | Iterable<M["inputs"]>;
  readonly toRequest: (inputs: M["inputs"], id: string) => Promise<ModelRequest>;
}

/**
 * The results of requests on one stream; an id numbers each of them. Throws a {@link CallError} for an answer that is
 * of none of them, and if the server ends the stream before each has an answer.
 */
export async function* streamResults<M extends TypedModel>(
  open: (sent: AsyncIterable<ModelRequest>) => AsyncIterable<StreamAnswer>,
  { address, requests, toRequest }: StreamedRequests<M>,
): AsyncGenerator<StreamResult<M["outputs"]>, void, undefined> {
  const sent = new OpenRequests(address);
  async function* numbered(): AsyncGenerator<ModelRequest, void, undefined> {
    for await (const inputs of requests) yield await toRequest(inputs, String(sent.add()));
  }
  for await (const answer of open(numbered())) {
    const { id: _, isFinal: __, ...result } = answer;
    yield { index: sent.answered(answer), ...result } as StreamResult<M["outputs"]>;
  }
  sent.assertAnswered();
}

/** Unanswered requests that an error names. */
const MAX_NAMED = 10;
const ADVICE = "Send the requests one by one.";

/**
 * The requests of a stream that have no answer yet. An answer belongs to the request whose id it has; one request may
 * have several, as Triton's decoupled models give them. Answers of a server that leaves out every id are taken to be in
 * the order of the requests, one for each; a server that gives ids to some answers and not to others leaves open which
 * they are of, which is an error. A failure without an id is of the one open request, or else of the whole stream,
 * unless answers without ids came before it.
 */
class OpenRequests {
  readonly #address: string;
  readonly #open = new Set<number>();
  #sent = 0;
  #hasIds: boolean | undefined;

  /** `address`: of the server, for errors. */
  constructor(address: string) {
    this.#address = address;
  }

  /** Adds a request that is to be sent, and gives its place, which is its id. */
  add(): number {
    const index = this.#sent++;
    this.#open.add(index);
    return index;
  }

  /** The place of the request that an answer is of. Throws a {@link CallError} if there is none. */
  answered({ id, error }: Pick<StreamAnswer, "id" | "error">): number {
    const index = id === "" ? this.#unnamed(error) : this.#named(id);
    this.#open.delete(index);
    return index;
  }

  /** Throws a {@link CallError} if a request has no answer. */
  assertAnswered(): void {
    if (this.#open.size === 0) return;
    const named = [...this.#open].slice(0, MAX_NAMED).join(", ");
    const more = this.#open.size > MAX_NAMED ? ` and ${this.#open.size - MAX_NAMED} more` : "";
    const text = `${this.#address} ended the stream without answers to the requests at ${named}${more}. Send them again if they may run twice.`;
    throw new CallError("internal", text);
  }

  #unnamed(error: CallError | undefined): number {
    const [oldest] = this.#open;
    if (error === undefined) this.#setForm(false);
    else if (this.#hasIds !== false && this.#open.size !== 1) throw error;
    if (oldest === undefined) throw this.#error("gave more answers without ids than there were requests");
    return oldest;
  }

  #named(id: string): number {
    this.#setForm(true);
    const index = Number(id);
    if (String(index) === id && Number.isInteger(index) && index >= 0 && index < this.#sent) return index;
    throw this.#error(`gave an answer the id ${JSON.stringify(id.slice(0, 80))}, which no request has`);
  }

  #setForm(hasIds: boolean): void {
    this.#hasIds ??= hasIds;
    if (this.#hasIds !== hasIds) throw this.#error("gave ids to some answers and not to others");
  }

  #error(what: string): CallError {
    return new CallError("internal", `${this.#address} ${what}, so that results cannot be told apart. ${ADVICE}`);
  }
}
