import { ServingError } from "../errors.ts";
import { type Connect, createConnect } from "./create-connect.ts";

export { type ErrorCode, ServingError } from "../errors.ts";
export type { DType } from "../tensor/dtype.ts";
export { toNested } from "../tensor/elements.ts";
export { createTensor, type Tensor, type Tensors } from "../tensor/tensor.ts";
export { CallError } from "./call-error.ts";
export type { CallChoices } from "./call-sender.ts";
export type { ClientTls, ConnectOptions, Credentials, RetryOptions } from "./connect-options.ts";
export type { Connection, ConnectionMethods } from "./create-connect.ts";
export type { ModelClient, PredictOptions } from "./model-client.ts";
export type { FileLike } from "./read-files.ts";
export type { StreamResult } from "./stream-results.ts";
export type { DescribedTensor, ModelMetadata } from "./transport.ts";
export type { AnyModel, In, Out, TypedModel } from "./typed-model.ts";

/** Connects to a server of KServe V2 at `http://…` or `https://…`, from a web page or any other program. */
export const connect: Connect = createConnect(() => {
  throw new ServingError("unimplemented", "A web page has no gRPC; connect to http://HOST:PORT instead.");
});
