import { createSecureContext } from "node:tls";
import { invalidArgument, reasonText } from "../../errors.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import { CallError } from "../call-error.ts";
import type { ClientTls, ConnectOptions } from "../connect-options.ts";
import type {
  ModelAnswer,
  ModelMetadata,
  ModelName,
  ModelRequest,
  StreamAnswer,
  Transport,
  TransportCall,
} from "../transport.ts";
import type { GrpcTransport } from "./grpc-transport.ts";

/** KServe V2 over gRPC; its library, which only users of gRPC need, is loaded with the first call. */
export class LazyGrpc implements Transport {
  readonly address: string;
  readonly #options: Pick<ConnectOptions, "tls">;
  #transport: Promise<GrpcTransport> | undefined;
  #isClosed = false;

  /** Throws `invalid_argument` for texts that are not PEM. */
  constructor(address: string, options: Pick<ConnectOptions, "tls">) {
    this.address = address;
    this.#options = options;
    checkTls(options.tls ?? {});
  }

  async infer(request: ModelRequest, call: TransportCall): Promise<ModelAnswer> {
    return (await this.#open()).infer(request, call);
  }

  async *parts(request: ModelRequest, call: TransportCall): AsyncGenerator<Tensors, void, undefined> {
    yield* (await this.#open()).parts(request, call);
  }

  async *stream(requests: AsyncIterable<ModelRequest>, call: TransportCall): AsyncGenerator<StreamAnswer> {
    yield* (await this.#open()).stream(requests, call);
  }

  async describe(name: ModelName, call: TransportCall): Promise<ModelMetadata> {
    return (await this.#open()).describe(name, call);
  }

  async isDecoupled(name: ModelName, call: TransportCall): Promise<boolean> {
    return (await this.#open()).isDecoupled(name, call);
  }

  async list(call: TransportCall): Promise<readonly string[]> {
    return (await this.#open()).list(call);
  }

  async isReady(name: ModelName | undefined, call: TransportCall): Promise<boolean> {
    return (await this.#open()).isReady(name, call);
  }

  close(): void {
    this.#isClosed = true;
    this.#transport?.then(
      (transport) => transport.close(),
      () => {},
    );
  }

  async #open(): Promise<GrpcTransport> {
    if (this.#isClosed) throw this.#closed();
    this.#transport ??= this.#load();
    const transport = await this.#transport;
    if (this.#isClosed) throw this.#closed();
    return transport;
  }

  #closed(): CallError {
    return new CallError("failed_precondition", `The connection to ${this.address} is closed; connect again.`);
  }

  async #load(): Promise<GrpcTransport> {
    try {
      const { GrpcTransport } = await importTransport(this.address);
      const transport = new GrpcTransport(this.address, this.#options);
      if (this.#isClosed) transport.close();
      return transport;
    } catch (reason) {
      // The next call tries again.
      this.#transport = undefined;
      throw reason;
    }
  }
}

/** The client package has gRPC's library as an optional peer. */
async function importTransport(address: string): Promise<typeof import("./grpc-transport.ts")> {
  try {
    return await import("./grpc-transport.ts");
  } catch (cause) {
    if (!/@grpc\/grpc-js/.test(reasonText(cause))) throw cause;
    const text = `${address} needs the package @grpc/grpc-js: npm install @grpc/grpc-js, or connect to http://HOST:PORT.`;
    throw new CallError("failed_precondition", text, { cause });
  }
}

function checkTls({ ca, cert, key }: ClientTls): void {
  const given = Object.entries({ ca, cert, key }).filter(([, pem]) => pem !== undefined);
  if (given.length === 0) return;
  if ((cert === undefined) !== (key === undefined))
    throw invalidArgument("The tls option has one of cert and key; expected both, or neither.");
  try {
    createSecureContext(Object.fromEntries(given));
  } catch (cause) {
    throw invalidArgument(`The tls option cannot be used: ${reasonText(cause)}; expected PEM texts.`, cause);
  }
}
