import { type ErrorCode, ServingError } from "../errors.ts";
import type { RemoteHandle, RemotePredictOptions } from "../hooks/hooks.ts";
import { RemotePart } from "../observability/remote-part.ts";
import { NO_LIMITS } from "../platform/limits/call-limits.ts";
import { toTensors } from "../tensor/plain-value.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { blameHook } from "./bound-stage.ts";
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

/** `ctx.remote(address)`: calls that end with the request. */
export function remoteHandle(client: RemoteClient, address: string, caller: CallOptions): RemoteHandle {
  return {
    predict: async (inputs, options: RemotePredictOptions = {}) => {
      const { model = "", signature = "", outputs, timeoutMs, authorization } = options;
      const { deadline = Number.POSITIVE_INFINITY } = caller.limits ?? NO_LIMITS;
      const until = timeoutMs === undefined ? deadline : Math.min(Date.now() + timeoutMs, deadline);
      const part = new RemotePart(caller);
      let code: string | undefined;
      try {
        return await client.predict(address, {
          inputs: toTensors(inputs),
          model,
          signature,
          outputs,
          call: {
            metadata: { ...part.headers, ...(authorization !== undefined && { authorization }) },
            limits: { deadline: until === Number.POSITIVE_INFINITY ? undefined : until },
            signal: caller.signal,
          },
        });
      } catch (reason) {
        code = ServingError.from(reason).code;
        throw blameHook(refusedThere(reason, address), `A hook gave ${address} what it does not take`);
      } finally {
        part.end(address, code);
      }
    },
  };
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
