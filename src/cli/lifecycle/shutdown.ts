import { setTimeout } from "node:timers/promises";
import { reasonText } from "../../errors.ts";
import type { InFlight } from "../../serving/admission.ts";
import type { StatusReporter } from "../status-reporter/status-reporter.ts";
import { offAsked, onAsked, supervised } from "../supervisor/supervised.ts";
import { killSelf } from "./end-process.ts";
import { allowExit } from "./own-exit.ts";

/** A running server, as stopping it needs to see it. */
export interface Running {
  inFlight(): readonly InFlight[];
  /** Says that it is not ready, asks clients to go elsewhere, and goes on answering. */
  retire(): void;
  /** Takes no new requests, finishes those under way; rejects when it cannot. */
  close(): Promise<void>;
  /** Ends other processes that would outlive this one. */
  abandon?(): void;
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
/** The longest interval of a timer, in milliseconds. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * Lets SIGINT, SIGTERM and SIGHUP end the process at once while nothing is served yet, and nothing else: a start that
 * waits goes on waiting. Returns how to stop that. Without it the first process of a container would ignore the
 * signals, and any other would leave its temporary files.
 */
export function endOnSignal(): () => void {
  const signals = [...SIGNALS, "SIGHUP"] as const;
  const held = setInterval(() => {}, LONGEST_MS);
  const stop = () => {
    clearInterval(held);
    for (const signal of signals) offAsked(signal, end);
  };
  const end = (signal: NodeJS.Signals) => {
    stop();
    killSelf(signal);
  };
  for (const signal of signals) onAsked(signal, end);
  return stop;
}

/**
 * Resolves once a SIGINT or SIGTERM has come and everything is finished. After SIGTERM, which an orchestrator sends
 * while load balancers still send requests, these are answered for `delayMs` first; a person at a terminal does not
 * wait. A second signal, or a close that fails, kills the process.
 */
export function runUntilSignal(running: Running, reporter: StatusReporter, { delayMs, ends }: Stopping): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false;
    const begin = (signal: NodeJS.Signals) => {
      isStopping = true;
      stop(running, reporter, signal === "SIGTERM" ? delayMs : 0).then(resolve, (reason) =>
        cutOff(running, reporter, reasonText(reason)),
      );
    };
    const onSignal = (signal: NodeJS.Signals) => {
      if (isStopping) return cutOff(running, reporter, "Stopped by a second signal.");
      begin(signal);
    };
    for (const signal of SIGNALS) onAsked(signal, onSignal);
    void ends?.then(() => isStopping || begin("SIGTERM"));
  });
}

/** The way in which the program stops. */
export interface Stopping {
  /** Milliseconds for which it keeps answering after SIGTERM. */
  readonly delayMs: number;
  /** Resolves if it is to stop as if that had come. */
  readonly ends?: Promise<unknown>;
}

async function stop(running: Running, reporter: StatusReporter, delayMs: number): Promise<void> {
  // One that dies from now on is not started again.
  supervised()?.enter("ending");
  allowExit();
  if (delayMs > 0) {
    reporter.retiring(delayMs);
    running.retire();
    await setTimeout(delayMs);
  }
  reporter.draining(running.inFlight().length);
  await supervised()?.tell({ released: true });
  await running.close();
  reporter.stopped();
}

function cutOff(running: Running, reporter: StatusReporter, why: string): never {
  reporter.cutOff(running.inFlight(), why);
  running.abandon?.();
  killSelf();
}
