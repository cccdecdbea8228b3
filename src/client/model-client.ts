import { invalidArgument, ServingError } from "../errors.ts";
import { datatypeNamed } from "../protocols/kserve/datatype.ts";
import type { TensorSpec } from "../tensor/signature/signature.ts";
import { toInputTensors } from "../tensor/signature/to-input-tensors.ts";
import { isTensor, type Tensors } from "../tensor/tensor.ts";
import { type CallChoices, type CallSender, endError } from "./call-sender.ts";
import { readFiles, type ValuesOrFiles } from "./read-files.ts";
import type { StreamResult } from "./stream-results.ts";
import { streamResults } from "./stream-results.ts";
import {
  CODES_OF_CHANGES,
  type ModelAnswer,
  type ModelMetadata,
  type ModelName,
  type ModelRequest,
  type Transport,
  type TransportCall,
} from "./transport.ts";
import type { AnyModel, TypedModel } from "./typed-model.ts";

/** Choices for one request. */
export interface PredictOptions extends CallChoices {
  /** Names of the wanted outputs; absent = all. */
  readonly outputs?: readonly string[];
  /** Absent = the server makes one. */
  readonly id?: string;
  /** Parameters of KServe V2: `priority`, or what a server knows besides. */
  readonly parameters?: Readonly<Record<string, string | number | boolean>>;
  /** kserving's own: which signature of a model that has several. */
  readonly signature?: string;
}

/** One model of a server. */
export class ModelClient<M extends TypedModel = AnyModel> {
  readonly #transport: Transport;
  readonly #sender: CallSender;
  readonly #name: ModelName;
  #specs: Promise<readonly TensorSpec[] | undefined> | undefined;

  constructor(transport: Transport, sender: CallSender, name: ModelName) {
    this.#transport = transport;
    this.#sender = sender;
    this.#name = name;
  }

  /**
   * Runs the model, and resolves with its outputs. Rejects with a `CallError`, or with
   * `invalid_argument` for values that cannot be tensors.
   */
  async predict(inputs: M["inputs"], options: PredictOptions = {}): Promise<M["outputs"]> {
    return (await this.infer(inputs, options)).outputs;
  }

  /** {@link predict} with the version that answered, and the headers of its answer. */
  async infer(
    inputs: M["inputs"],
    options: PredictOptions = {},
  ): Promise<Omit<ModelAnswer, "outputs"> & { readonly outputs: M["outputs"] }> {
    const call = this.#sender.open(options);
    return this.#send(inputs as ValuesOrFiles, { options, call }, (request) =>
      this.#transport.infer(request, call),
    ) as never;
  }

  /**
   * Sends requests on one stream, over gRPC, and gives their results as the server sends them, each with the place of
   * its request. A request that fails has an `error`, and the stream goes on. Nothing is sent again. Throws if the
   * server ends the stream before each request has a result, or answers what was not asked.
   */
  stream(
    requests: AsyncIterable<M["inputs"]> | Iterable<M["inputs"]>,
    options?: Omit<PredictOptions, "id">,
  ): AsyncGenerator<StreamResult<M["outputs"]>, void, undefined>;
  /**
   * Runs the model once, and gives the parts of its answer as the server sends them; the answer of a model that answers
   * once is the only part. Leaving the loop cancels the call. The time limit is that of the whole answer. Throws as
   * {@link predict} rejects, also after parts; the call is sent again before the first part alone.
   */
  stream(inputs: M["inputs"], options?: PredictOptions): AsyncGenerator<M["outputs"], void, undefined>;
  stream(
    given: M["inputs"] | AsyncIterable<M["inputs"]> | Iterable<M["inputs"]>,
    options: PredictOptions = {},
  ): AsyncGenerator<StreamResult<M["outputs"]> | M["outputs"], void, undefined> {
    return isIterable(given) ? this.#results(given, options) : this.#parts(given as ValuesOrFiles, options);
  }

  async *#parts(values: ValuesOrFiles, options: PredictOptions): AsyncGenerator<M["outputs"], void, undefined> {
    const call = this.#sender.open(options);
    const { parts, first } = await this.#send(values, { options, call }, async (request) => {
      const parts = this.#transport.parts(request, call) as AsyncGenerator<M["outputs"], void, undefined>;
      return { parts, first: await parts.next() };
    });
    try {
      for (let part = first; part.done !== true; part = await parts.next()) {
        yield part.value;
        call.signal.throwIfAborted();
      }
    } catch (reason) {
      throw endError(call, reason);
    } finally {
      await parts.return();
    }
  }

  async *#results(
    requests: AsyncIterable<M["inputs"]> | Iterable<M["inputs"]>,
    options: Omit<PredictOptions, "id">,
  ): AsyncGenerator<StreamResult<M["outputs"]>, void, undefined> {
    const { stream } = this.#transport;
    if (stream === undefined)
      throw invalidArgument(
        "Streams of requests need gRPC; connect to grpc://HOST:PORT, from a program that is not a web page.",
      );
    const call = this.#sender.open(options);
    const toRequest = (inputs: M["inputs"], id: string) =>
      this.#toRequest(inputs as ValuesOrFiles, { ...options, id }, call);
    const sent = { address: this.#transport.address, requests, toRequest };
    yield* streamResults<M>((messages) => stream.call(this.#transport, messages, call), sent);
  }

  /** The model's inputs, outputs and versions. */
  metadata(choices: CallChoices = {}): Promise<ModelMetadata> {
    const call = this.#sender.open(choices);
    return this.#sender.send(call, () => this.#transport.describe(this.#name, call));
  }

  /** True if the model answers in parts, as far as the server says: see {@link stream}. */
  decoupled(choices: CallChoices = {}): Promise<boolean> {
    const call = this.#sender.open(choices);
    return this.#sender.send(call, () => this.#transport.isDecoupled(this.#name, call));
  }

  /** True if the model can answer. */
  ready(choices: CallChoices = {}): Promise<boolean> {
    const call = this.#sender.open(choices);
    return this.#sender.send(call, () => this.#transport.isReady(this.#name, call));
  }

  /** A version of the model. */
  version(version: number | bigint | string): ModelClient<M> {
    return new ModelClient(this.#transport, this.#sender, { ...this.#name, version: String(version) });
  }

  /** Sends a request, with inputs that are made each time. */
  #send<Answer>(
    values: ValuesOrFiles,
    { options, call }: { readonly options: PredictOptions; readonly call: TransportCall },
    send: (request: ModelRequest) => Promise<Answer>,
  ): Promise<Answer> {
    return this.#sender.send(call, async () => {
      const request = await this.#toRequest(values, options, call);
      try {
        return await send(request);
      } catch (reason) {
        // The model may have been replaced by one with other inputs.
        if (CODES_OF_CHANGES.has(ServingError.from(reason).code)) this.#specs = undefined;
        throw reason;
      }
    });
  }

  async #toRequest(values: ValuesOrFiles, options: PredictOptions, call: TransportCall): Promise<ModelRequest> {
    const { outputs = [], id = "", parameters = {}, signature } = options;
    const chosen = signature === undefined ? {} : { signature_name: signature };
    const inputs = await this.#toInputs(values, call);
    return { ...this.#name, id, inputs, outputs, parameters: { ...parameters, ...chosen } };
  }

  /** Tensors say what they are; for anything else the server is asked once what the model takes. */
  async #toInputs(values: ValuesOrFiles, call: TransportCall): Promise<Tensors> {
    if (typeof values !== "object" || values === null)
      throw invalidArgument("The inputs are not an object; expected values by the names of the model's inputs.");
    const needsSpecs = Object.values(values).some((value) => !isTensor(value));
    const specs = needsSpecs ? await this.#knownSpecs(call) : undefined;
    return toInputTensors(await readFiles(values, specs), specs);
  }

  #knownSpecs(call: TransportCall): Promise<readonly TensorSpec[] | undefined> {
    this.#specs ??= this.#transport.describe(this.#name, call).then(toSpecs);
    const asked = this.#specs;
    asked.catch(() => {
      if (this.#specs === asked) this.#specs = undefined;
    });
    return asked;
  }
}

function isIterable<Inputs>(
  given: Inputs | AsyncIterable<Inputs> | Iterable<Inputs>,
): given is AsyncIterable<Inputs> | Iterable<Inputs> {
  return typeof given === "object" && given !== null && (Symbol.asyncIterator in given || Symbol.iterator in given);
}

/** Undefined if the server does not say. */
function toSpecs({ inputs }: ModelMetadata): readonly TensorSpec[] | undefined {
  return inputs?.flatMap(({ name, datatype, shape }) => {
    const dtype = datatypeNamed(datatype)?.dtype;
    return dtype === undefined ? [] : [{ name, dtype, shape }];
  });
}
