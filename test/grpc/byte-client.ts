import { Client, credentials, type Metadata, Metadata as NewMetadata, type ServiceError } from "@grpc/grpc-js";
import { onTestFinished } from "vitest";

/** Result of a call: the answer's bytes and the metadata before it. */
export interface Answer {
  readonly bytes: Buffer;
  readonly metadata: Metadata;
}

/** Choices for {@link ByteClient.call}. */
export interface CallChoices {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
}

/** A gRPC client without codecs, over one real connection. */
export class ByteClient {
  readonly #client: Client;

  constructor(address: string) {
    this.#client = new Client(address, credentials.createInsecure(), {
      "grpc.max_receive_message_length": -1,
      "grpc.use_local_subchannel_pool": 1,
    });
  }

  /** Rejects with the ServiceError. */
  call(path: string, bytes: Uint8Array, { metadata, deadlineMs, signal }: CallChoices = {}): Promise<Answer> {
    const options = deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs };
    return new Promise((resolve, reject) => {
      let received = new NewMetadata();
      const settle = (error: ServiceError | null, answer?: Buffer) => {
        if (error !== null) reject(error);
        else resolve({ bytes: answer as Buffer, metadata: received });
      };
      const call = this.#client.makeUnaryRequest(
        path,
        asIs,
        asIs,
        Buffer.from(bytes),
        toMetadata(metadata),
        options,
        settle,
      );
      call.on("metadata", (answered: Metadata) => {
        received = answered;
      });
      signal?.addEventListener("abort", () => call.cancel());
    });
  }

  /** Starts a server stream and returns what reads its messages one by one. */
  stream(path: string, bytes: Uint8Array, { metadata, signal }: CallChoices = {}): AsyncIterator<Buffer> {
    const call = this.#client.makeServerStreamRequest(path, asIs, asIs, Buffer.from(bytes), toMetadata(metadata));
    signal?.addEventListener("abort", () => call.cancel());
    return call[Symbol.asyncIterator]();
  }

  close(): void {
    this.#client.close();
  }
}

/** A client that closes when the test ends. */
export function connect(address: string): ByteClient {
  const client = new ByteClient(address);
  onTestFinished(() => client.close());
  return client;
}

function toMetadata(values: CallChoices["metadata"] = {}): Metadata {
  const metadata = new NewMetadata();
  for (const [name, value] of Object.entries(values)) metadata.set(name, value);
  return metadata;
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}
