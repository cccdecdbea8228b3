import type { ErrorCode } from "../errors.ts";
import type { Tensors } from "../tensor/tensor.ts";
import type { CallError } from "./call-error.ts";

/** The name of a model, and a version of it. */
export interface ModelName {
  readonly model: string;
  /** Absent = the server's choice. */
  readonly version?: string;
}

/** A request to a model. */
export interface InferRequest extends ModelName {
  readonly id?: string;
  readonly inputs: Tensors;
  /** Names of the wanted outputs; empty = all. */
  readonly outputs?: readonly string[];
  readonly parameters?: Readonly<Record<string, string | number | boolean>>;
}

/** The answer of a model. */
export interface InferAnswer {
  readonly id: string;
  readonly model: string;
  readonly version: string;
  readonly outputs: Tensors;
}

/** A request with all that its caller has chosen. */
export type ModelRequest = Required<Omit<InferRequest, "version">> & ModelName;

/** The answer of a model. */
export interface ModelAnswer extends Omit<InferAnswer, "id"> {
  /** Headers, or gRPC's metadata, by lower-case name. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** An answer in a stream, with the place of its request; or the error of that request. */
export type StreamAnswer =
  | { readonly id: string; readonly outputs: Tensors; readonly error?: undefined }
  | { readonly id: string; readonly outputs?: undefined; readonly error: CallError };

/** An input or output as KServe V2 describes it. */
export interface DescribedTensor {
  readonly name: string;
  readonly datatype: string;
  /** -1 = any size. */
  readonly shape: readonly number[];
}

/** A model as KServe V2 describes it. */
export interface ModelMetadata {
  readonly name: string;
  readonly versions?: readonly string[];
  readonly platform?: string;
  readonly inputs?: readonly DescribedTensor[];
  readonly outputs?: readonly DescribedTensor[];
}

/** Limits of one call, and what is sent with it. */
export interface TransportCall {
  readonly signal: AbortSignal;
  /** Milliseconds since 1970. */
  readonly deadline?: number | undefined;
  readonly metadata: Readonly<Record<string, string>>;
}

/** KServe V2 over one kind of connection. Every failure is a {@link CallError}. */
export interface Transport {
  readonly address: string;
  infer(request: ModelRequest, call: TransportCall): Promise<ModelAnswer>;
  /** Answers as the server sends them; absent if the transport has no streams. */
  stream?(requests: AsyncIterable<ModelRequest>, call: TransportCall): AsyncIterable<StreamAnswer>;
  describe(name: ModelName, call: TransportCall): Promise<ModelMetadata>;
  /** Names of the models. */
  list(call: TransportCall): Promise<readonly string[]>;
  isReady(name: ModelName | undefined, call: TransportCall): Promise<boolean>;
  close(): void;
}

/** Codes of answers after which {@link ModelMetadata} that was kept may be wrong. */
export const CODES_OF_CHANGES: ReadonlySet<ErrorCode> = new Set([
  "invalid_argument",
  "not_found",
  "failed_precondition",
]);
