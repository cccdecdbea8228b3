import { type ErrorCode, ServingError } from "../errors.ts";
import type { RemoteHandle, RemotePredictOptions } from "../hooks/hooks.ts";
import { RemotePart } from "../observability/remote-part.ts";
import { followSignal } from "../platform/async/cancel-source.ts";
import { NO_LIMITS } from "../platform/limits/call-limits.ts";
import { toTensors, type Values } from "../tensor/plain-value.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { blameHook, type OpenStreams } from "./bound-stage.ts";
import type { CallOptions } from "./call-options.ts";

/** Paths of PEM files for encrypted connections to other servers. */
export interface RemoteTlsPaths {
  /** Certificates of the authorities that sign the servers' certificates. Default: the well-known ones. */
  readonly ca?: string | undefined;
  /** The client's certificate and its private key, for servers that ask for one. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** Calls other servers for hooks; provided by the server, since a pipeline depends on no protocol. */
export interface RemoteClient {
  /** Runs one predict on the server at `address` (host:port). */
  predict(address: string, call: RemoteCall): Promise<Tensors>;
  /** The same, with the parts of the answer as they come. A reader that stops ends the call. */
  stream(address: string, call: RemoteCall): AsyncGenerator<Tensors, void, undefined>;
  /** Closes all connections. */
  close(): Promise<void>;
}

/** One call to another server. */
export interface RemoteCall {
  readonly inputs: Tensors;
  /** Empty = the remote server's only model. */
  readonly model: string;
  /** Empty = the default. */
  readonly signature: string;
  readonly outputs?: readonly string[] | undefined;
  readonly call: Pick<CallOptions, "metadata" | "limits" | "signal">;
}

/** `ctx.remote(address)`: calls that end with the request, as do those whose parts its hook has not read to the end. */
export function remoteHandle(
  client: RemoteClient,
  address: string,
  { caller, streams }: { readonly caller: CallOptions; readonly streams: OpenStreams },
): RemoteHandle {
  return {
    predict: async (inputs, options) => {
      const call = new OpenCall(address, caller);
      try {
        return await client.predict(address, call.of(inputs, options));
      } catch (reason) {
        throw call.failed(reason);
      } finally {
        call.end();
      }
    },
    stream: async function* (inputs, options) {
      const { source: signal, leave: unfollow } = followSignal(caller.signal);
      const call = new OpenCall(address, { ...caller, signal });
      const leave = () => {
        unfollow();
        signal.abort(new ServingError("cancelled", `A hook has left the parts of ${address}.`));
        call.end();
      };
      streams.add(leave);
      try {
        yield* client.stream(address, call.of(inputs, options));
      } catch (reason) {
        throw call.failed(reason);
      } finally {
        streams.delete(leave);
        leave();
      }
    },
  };
}

/** A call of another server for a request. */
class OpenCall {
  readonly #address: string;
  readonly #caller: CallOptions;
  readonly #part: RemotePart;
  #code: string | undefined;
  #isOver = false;

  constructor(address: string, caller: CallOptions) {
    this.#address = address;
    this.#caller = caller;
    this.#part = new RemotePart(caller);
  }

  of(inputs: Values, options: RemotePredictOptions = {}): RemoteCall {
    const { model = "", signature = "", outputs, timeoutMs, authorization } = options;
    const { limits, signal } = this.#caller;
    const { deadline = Number.POSITIVE_INFINITY } = limits ?? NO_LIMITS;
    const until = timeoutMs === undefined ? deadline : Math.min(Date.now() + timeoutMs, deadline);
    return {
      inputs: toTensors(inputs),
      model,
      signature,
      outputs,
      call: {
        metadata: { ...this.#part.headers, ...(authorization !== undefined && { authorization }) },
        limits: { deadline: until === Number.POSITIVE_INFINITY ? undefined : until },
        signal,
      },
    };
  }

  /** The error that the hook gets. */
  failed(reason: unknown): unknown {
    this.#code = ServingError.from(reason).code;
    return blameHook(refusedThere(reason, this.#address), `A hook gave ${this.#address} what it does not take`);
  }

  /** Again without effect. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#part.end(this.#address, this.#code);
  }
}

/** The other server refuses this one, not the client, which may have shown this one all that it asks for. */
function refusedThere(reason: unknown, address: string): unknown {
  if (!(reason instanceof ServingError) || !REFUSALS.includes(reason.code)) return reason;
  const hint = "give its credentials as authorization, or in the file of --remote-auth-file";
  return new ServingError("internal", `${address} refuses calls of this server; ${hint}: ${reason.message}`, {
    cause: reason,
  });
}

const REFUSALS: readonly ErrorCode[] = ["unauthenticated", "permission_denied"];
