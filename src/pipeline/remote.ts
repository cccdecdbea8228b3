import type { RemoteHandle, RemotePredictOptions } from "../hooks/hooks.ts";
import type { CallLimits } from "../limits/call-limits.ts";
import { toTensors } from "../tensor/plain-value.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { blameHook } from "./bound-stage.ts";

/** Calls other servers for hooks; provided by the server, since a pipeline depends on no protocol. */
export interface RemoteClient {
  /** Runs one predict on the server at `address` (host:port). */
  predict(address: string, call: RemoteCall): Promise<Tensors>;
  /** Closes all connections. */
  close(): Promise<void>;
}

/** One call to another server. */
export interface RemoteCall extends Pick<CallLimits, "signal" | "deadline"> {
  readonly inputs: Tensors;
  /** Empty = the remote server's only model. */
  readonly model: string;
  /** Empty = the default. */
  readonly signature: string;
  readonly outputs?: readonly string[];
}

/** `ctx.remote(address)`: calls that end with the request. */
export function remoteHandle(client: RemoteClient, address: string, limits: CallLimits): RemoteHandle {
  return {
    predict: async (inputs, { model = "", signature = "", outputs, timeoutMs }: RemotePredictOptions = {}) => {
      const deadline =
        timeoutMs === undefined ? limits.deadline : Math.min(Date.now() + timeoutMs, limits.deadline ?? Infinity);
      try {
        return await client.predict(address, {
          inputs: toTensors(inputs),
          model,
          signature,
          signal: limits.signal,
          ...(outputs && { outputs }),
          ...(deadline !== undefined && { deadline }),
        });
      } catch (reason) {
        throw blameHook(reason, `A hook gave ${address} what it does not take`);
      }
    },
  };
}
