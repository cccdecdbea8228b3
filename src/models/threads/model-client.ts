import { ServingError } from "../../errors.ts";
import { packValues, unpackValues } from "../../platform/threads/call-values.ts";
import type { HostPort } from "../../platform/threads/host-port.ts";
import { fromMethodTree } from "../../platform/threads/method-tree.ts";
import type { RpcClient } from "../../platform/threads/rpc-client.ts";
import { openTimedAnswer } from "../../platform/threads/timed-answer.ts";
import type { ModelFacts } from "../model-facts.ts";
import type { ModelHandle } from "../model-handle.ts";
import { CopyClients } from "./copy-clients.ts";
import { CALL, PREDICT, toSentCall } from "./model-protocol.ts";

/** A model that is reached by message. */
export interface ModelAddress {
  readonly facts: ModelFacts;
  /** Values for hooks, with markers for functions. */
  readonly hookArgs: unknown;
  /** One connection per instance of the model. */
  readonly ports: readonly HostPort[];
}

/** A handle of a model in another thread. */
export interface ModelClient extends ModelHandle {
  /**
   * Goes on with a new connection to an instance that was replaced. Predicts sent on the old one are sent again with
   * `resend`, and fail without.
   */
  reconnect(instance: number, port: HostPort, resend: boolean): void;
}

/** Creates a handle whose calls go to the living instance with the fewest open calls. */
export function createModelClient({ facts, hookArgs, ports }: ModelAddress): ModelClient {
  let closed = false;
  const copies = new CopyClients(ports, facts);
  const call = (method: string, args: readonly unknown[]) => callMethod(copies.leastLoaded(), method, args);
  return {
    ...facts,
    hookArgs: fromMethodTree(hookArgs, call) as Readonly<Record<string, unknown>>,
    predict: async (inputs, call) => {
      if (closed) throw new ServingError("unavailable", "The model is closed.");
      const isPlainEcho = facts.echoes && call.outputs === undefined && Object.hasOwn(facts.signatures, call.signature);
      if (isPlainEcho) return inputs;
      const meta = toSentCall(call, facts.defaultSignature);
      const answer = await copies.ask({ kind: PREDICT, meta, tensors: inputs }, call);
      if (call.timeline !== undefined) openTimedAnswer(answer.meta, call.timeline);
      return answer.tensors;
    },
    statistics: () => copies.statistics(),
    reconnect: (instance, port, resend) => copies.reconnect(instance, port, resend),
    close: async () => {
      closed = true;
      await copies.close();
    },
  };
}

/** Calls a function of the model that it gives to hooks. */
async function callMethod(copy: RpcClient, method: string, args: readonly unknown[]): Promise<unknown> {
  const { json, tensors } = packValues(args);
  const answer = await copy
    .ask({ kind: CALL, meta: { method, args: json }, tensors })
    .catch((reason) => Promise.reject(blameCaller(reason, method)));
  return unpackValues({ json: answer.meta, tensors: answer.tensors });
}

/** Makes an error in a method's arguments the hook's fault: they never come from the client. */
function blameCaller(reason: unknown, method: string): unknown {
  if (!(reason instanceof ServingError) || reason.code !== "invalid_argument") return reason;
  return new ServingError("internal", `A hook gave ${method} what it does not take: ${reason.message}`, {
    cause: reason,
  });
}
