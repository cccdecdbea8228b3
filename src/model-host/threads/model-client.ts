import { ServingError } from "../../errors.ts";
import { packValues, unpackValues } from "../../threads/call-values.ts";
import type { HostPort } from "../../threads/host-port.ts";
import { fromMethodTree } from "../../threads/method-tree.ts";
import { RpcClient, wasNeverStarted } from "../../threads/rpc-client.ts";
import { openTimedAnswer } from "../../threads/timed-answer.ts";
import type { ModelFacts } from "../model-facts.ts";
import type { ModelHandle } from "../model-handle.ts";
import { type RunStatistics, sumStatistics } from "../queue/run-statistics.ts";
import { CALL, PREDICT, STATISTICS, toPredictMeta } from "./model-protocol.ts";
import { ReportedStatistics } from "./reported-statistics.ts";

/** A model that is reached by message. */
export interface ModelAddress {
  readonly facts: ModelFacts;
  /** Values for hooks, with markers for functions. */
  readonly hookArgs: unknown;
  /** One connection per instance of the model. */
  readonly ports: readonly HostPort[];
}

const ASK_STATISTICS = {
  kind: STATISTICS,
  meta: undefined,
  tensors: undefined,
  signal: undefined,
  transfer: false,
} as const;

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
  const connect = (port: HostPort) => new RpcClient(port, `the model's ${facts.isolated ? "process" : "thread"}`);
  const clients = ports.map(connect);
  const statistics = clients.map((client) => new ReportedStatistics(() => askStatistics(client)));
  let turn = 0;
  const leastLoaded = () => {
    // Other threads' calls are not seen here: equals are chosen round-robin, so that not all begin with the first.
    turn = (turn + 1) % clients.length;
    let best = clients[turn]!;
    for (let step = 1; step < clients.length; step++) {
      const next = clients[(turn + step) % clients.length]!;
      if (loadOf(next) < loadOf(best)) best = next;
    }
    return best;
  };
  const copyFor = (warmUp: number | undefined) => {
    const copy = warmUp === undefined ? undefined : clients[warmUp % clients.length];
    return copy?.isOpen ? copy : leastLoaded();
  };
  const call = async (method: string, args: readonly unknown[]) => {
    const { json, tensors } = packValues(args);
    const answer = await leastLoaded()
      .ask({ kind: CALL, meta: { method, args: json }, tensors, signal: undefined, transfer: false })
      .catch((reason) => Promise.reject(blameCaller(reason, method)));
    return unpackValues({ json: answer.meta, tensors: answer.tensors });
  };
  return {
    ...facts,
    hookArgs: fromMethodTree(hookArgs, call) as Readonly<Record<string, unknown>>,
    predict: async (inputs, call) => {
      if (closed) throw new ServingError("unavailable", "The model is closed.");
      const { signal, transfer = false } = call;
      const isPlainEcho = facts.echoes && call.outputs === undefined && Object.hasOwn(facts.signatures, call.signature);
      if (isPlainEcho) return inputs;
      const meta = toPredictMeta(call, facts.defaultSignature);
      // Inputs that may have to be sent again are kept.
      const gone = transfer && facts.sharesThread !== true;
      const request = { kind: PREDICT, meta, tensors: inputs, signal, transfer: gone };
      for (;;) {
        try {
          const answer = await copyFor(call.warmUp).ask(request);
          if (call.timeline !== undefined) openTimedAnswer(answer.meta, call.timeline);
          return answer.tensors;
        } catch (reason) {
          if (!wasNeverStarted(reason)) throw reason;
        }
      }
    },
    statistics: async () => sumStatistics(await Promise.all(statistics.map((copy) => copy.read()))),
    reconnect: (instance, port, resend) => {
      const old = clients[instance];
      const client = connect(port);
      clients[instance] = client;
      statistics[instance] = new ReportedStatistics(() => askStatistics(client), statistics[instance]?.known);
      old?.close(resend);
    },
    close: async () => {
      closed = true;
      await Promise.all(clients.map((client) => client.idle()));
      for (const client of clients) client.close();
    },
  };
}

async function askStatistics(client: RpcClient): Promise<RunStatistics> {
  const { meta } = await client.ask(ASK_STATISTICS);
  return meta as RunStatistics;
}

function loadOf({ isOpen, pending }: RpcClient): number {
  return isOpen ? pending : Number.POSITIVE_INFINITY;
}

/** Makes an error in a method's arguments the hook's fault: they never come from the client. */
function blameCaller(reason: unknown, method: string): unknown {
  if (!(reason instanceof ServingError) || reason.code !== "invalid_argument") return reason;
  return new ServingError("internal", `A hook gave ${method} what it does not take: ${reason.message}`, {
    cause: reason,
  });
}
