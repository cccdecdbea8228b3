import type { CallError } from "./call-error.ts";
import { OpenRequests } from "./open-requests.ts";
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
 * of none of them, and where the server ends the stream before each has an answer.
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
    const { id: _, ...result } = answer;
    yield { index: sent.answered(answer), ...result } as StreamResult<M["outputs"]>;
  }
  sent.assertAnswered();
}
