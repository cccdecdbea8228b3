import { ServingError } from "../../errors.ts";
import { packValues, unpackValues } from "../../threads/call-values.ts";
import { Exchange, wasNeverStarted } from "../../threads/exchange.ts";
import type { HostPort } from "../../threads/host-port.ts";
import { fromMethodTree } from "../../threads/method-tree.ts";
import type { ModelFacts } from "../model-facts.ts";
import type { ModelHandle } from "../model-handle.ts";
import { type RunStatistics, sumStatistics } from "../queue/run-statistics.ts";
import { CALL, PREDICT, STATISTICS, toPredictMeta } from "./model-protocol.ts";
import { ToldStatistics } from "./told-statistics.ts";

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
  give: false,
} as const;

/** A handle of a model in another thread. */
export interface ModelClient extends ModelHandle {
  /** Goes on with a new connection to an instance that was replaced. Predicts sent on the old one are sent again with `resend`, and fail without. */
  reconnect(instance: number, port: HostPort, resend: boolean): void;
}

/** Creates a handle whose calls go to the living instance with the fewest open calls. */
export function createModelClient({ facts, hookArgs, ports }: ModelAddress): ModelClient {
  let closed = false;
  const connect = (port: HostPort) => new Exchange(port, "the model's thread");
  const exchanges = ports.map(connect);
  const told = exchanges.map((exchange) => new ToldStatistics(() => askStatistics(exchange)));
  let turn = 0;
  const leastLoaded = () => {
    // Other threads' calls are not seen here: equals are chosen round-robin, so that not all begin with the first.
    turn = (turn + 1) % exchanges.length;
    let best = exchanges[turn]!;
    for (let step = 1; step < exchanges.length; step++) {
      const next = exchanges[(turn + step) % exchanges.length]!;
      if (loadOf(next) < loadOf(best)) best = next;
    }
    return best;
  };
  const copyFor = (warmUp: number | undefined) => {
    const copy = warmUp === undefined ? undefined : exchanges[warmUp % exchanges.length];
    return copy?.isOpen ? copy : leastLoaded();
  };
  const call = async (method: string, args: readonly unknown[]) => {
    const { json, tensors } = packValues(args);
    const answer = await leastLoaded()
      .ask({ kind: CALL, meta: { method, args: json }, tensors, signal: undefined, give: false })
      .catch((reason) => Promise.reject(blameCaller(reason, method)));
    return unpackValues({ json: answer.meta, tensors: answer.tensors });
  };
  return {
    ...facts,
    hookArgs: fromMethodTree(hookArgs, call) as Readonly<Record<string, unknown>>,
    predict: async (inputs, call) => {
      if (closed) throw new ServingError("unavailable", "The model is closed.");
      const { signal, give = false } = call;
      const isPlainEcho = facts.echoes && call.outputs === undefined && Object.hasOwn(facts.signatures, call.signature);
      if (isPlainEcho) return inputs;
      const meta = toPredictMeta(call, facts.defaultSignature);
      // Inputs that may have to be sent again are kept.
      const question = { kind: PREDICT, meta, tensors: inputs, signal, give: give && facts.sharesThread !== true };
      for (;;) {
        try {
          return (await copyFor(call.warmUp).ask(question)).tensors;
        } catch (reason) {
          if (!wasNeverStarted(reason)) throw reason;
        }
      }
    },
    statistics: async () => sumStatistics(await Promise.all(told.map((copy) => copy.read()))),
    reconnect: (instance, port, resend) => {
      const old = exchanges[instance];
      const exchange = connect(port);
      exchanges[instance] = exchange;
      told[instance] = new ToldStatistics(() => askStatistics(exchange), told[instance]?.known);
      old?.close(resend);
    },
    close: async () => {
      closed = true;
      await Promise.all(exchanges.map((exchange) => exchange.idle()));
      for (const exchange of exchanges) exchange.close();
    },
  };
}

async function askStatistics(exchange: Exchange): Promise<RunStatistics> {
  const { meta } = await exchange.ask(ASK_STATISTICS);
  return meta as RunStatistics;
}

function loadOf({ isOpen, pending }: Exchange): number {
  return isOpen ? pending : Number.POSITIVE_INFINITY;
}

/** Makes an error in a method's arguments the hook's fault: they never come from the client. */
function blameCaller(reason: unknown, method: string): unknown {
  if (!(reason instanceof ServingError) || reason.code !== "invalid_argument") return reason;
  return new ServingError("internal", `A hook gave ${method} what it does not take: ${reason.message}`, {
    cause: reason,
  });
}
