import type { CallError } from "./call-error.ts";
import type { ModelRequest, StreamAnswer } from "./transport.ts";
import type { TypedModel } from "./typed-model.ts";

/** The result of one request of a stream. */
export type StreamResult<Outputs> =
  /** Place of the request among those that were sent, from 0. */
  | { readonly index: number; readonly outputs: Outputs; readonly error?: undefined }
  | { readonly index: number; readonly outputs?: undefined; readonly error: CallError };

interface StreamedRequests<M extends TypedModel> {
  readonly requests: AsyncIterable<M["inputs"]> | Iterable<M["inputs"]>;
  readonly toRequest: (inputs: M["inputs"], id: string) => Promise<ModelRequest>;
}

/** The results of requests on one stream; an id numbers each of them. */
export async function* streamResults<M extends TypedModel>(
  open: (sent: AsyncIterable<ModelRequest>) => AsyncIterable<StreamAnswer>,
  { requests, toRequest }: StreamedRequests<M>,
): AsyncGenerator<StreamResult<M["outputs"]>, void, undefined> {
  async function* numbered(): AsyncGenerator<ModelRequest, void, undefined> {
    let index = 0;
    for await (const inputs of requests) yield await toRequest(inputs, String(index++));
  }
  for await (const { id, ...answer } of open(numbered())) {
    yield { index: Number(id), ...answer } as StreamResult<M["outputs"]>;
  }
}
