import { failedPrecondition, ServingError } from "../errors.ts";
import { datatypeNamed } from "../protocols/kserve/datatype.ts";
import type { Values } from "../tensor/plain-value.ts";
import type { TensorSpec } from "../tensor/signature/signature.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { CallError } from "./call-error.ts";
import type { ModelAddress } from "./model-address.ts";
import type { PredictOptions } from "./model-client.ts";
import { connect } from "./node.ts";
import type { DescribedTensor } from "./transport.ts";

/** A model of another server: this one, Triton or any other that answers KServe V2. */
export interface RemoteModel {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  /** Runs the model; rejects with the server's error. */
  predict(inputs: Values, options?: PredictOptions): Promise<Tensors>;
  /** Runs it, and gives the parts of its answer as they come, for as long as they come; throws as {@link predict}. */
  stream(inputs: Values, options?: PredictOptions): AsyncGenerator<Tensors, void, undefined>;
  /** True if it answers in parts; false of a server that does not say. */
  decoupled(): Promise<boolean>;
  close(): void;
}

/** Models may take minutes for their first request. */
const TIMEOUT_MS = 600_000;
/** The longest time of a timer. */
const ENDLESS_MS = 2 ** 31 - 1;

/**
 * Connects to a model, with an `Authorization` if its server asks for one; throws
 * `failed_precondition` if it is not there.
 */
export async function openRemoteModel(address: ModelAddress, authorization?: string): Promise<RemoteModel> {
  const metadata: Record<string, string> = authorization === undefined ? {} : { authorization };
  const connection = connect(address.server, { timeoutMs: TIMEOUT_MS, retries: false, metadata });
  const named = connection.$model(address.model);
  const model = address.version === undefined ? named : named.version(address.version);
  try {
    const { inputs = [], outputs = [] } = await model.metadata();
    return {
      inputs: inputs.map(toSpec),
      outputs: outputs.map(toSpec),
      predict: (values, options) => model.predict(values, options).catch(failPlainly),
      stream: async function* (values, options) {
        try {
          yield* model.stream(values, { timeoutMs: ENDLESS_MS, ...options });
        } catch (reason) {
          failPlainly(reason);
        }
      },
      decoupled: () => model.decoupled().catch(failPlainly),
      close: () => connection.$close(),
    };
  } catch (reason) {
    connection.$close();
    throw failedPrecondition(textOf(reason, `${address.text}: `), reason);
  }
}

function failPlainly(reason: unknown): never {
  throw new ServingError(ServingError.from(reason).code, textOf(reason), { cause: reason });
}

/** A server's error without the advice after its text, which is for programs. */
function textOf(reason: unknown, before = ""): string {
  const answered = reason instanceof CallError ? reason.serverText : undefined;
  return answered === undefined ? ServingError.from(reason).message : `${before}${answered}`;
}

function toSpec({ name, datatype, shape, categories, example }: DescribedTensor): TensorSpec {
  const dtype = datatypeNamed(datatype)?.dtype;
  if (dtype === undefined) throw failedPrecondition(`The tensor "${name}" is ${datatype}, which is not known.`);
  return { name, dtype, shape, ...(categories && { categories }), ...(example !== undefined && { example }) };
}
