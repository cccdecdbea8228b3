import { reasonText } from "../../errors.ts";
import type { InFlight } from "../../serving/admission.ts";
import type { Announcer } from "../announcer/announcer.ts";
import { killSelf } from "./kill-self.ts";

/** A running server, as stopping it needs to see it. */
export interface Running {
  inFlight(): readonly InFlight[];
  /** Takes no new requests, finishes those under way; rejects when it cannot. */
  close(): Promise<void>;
  /** Ends other processes that would outlive this one. */
  abandon?(): void;
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/**
 * Lets SIGINT, SIGTERM and SIGHUP end the process at once while nothing is served yet; returns how to stop that.
 * Without it the first process of a container would ignore them, and any other would leave its temporary files.
 */
export function endOnSignal(): () => void {
  const signals = [...SIGNALS, "SIGHUP"] as const;
  const stop = () => signals.forEach((signal) => void process.off(signal, end));
  const end = (signal: NodeJS.Signals) => {
    stop();
    killSelf(signal);
  };
  for (const signal of signals) process.on(signal, end);
  return stop;
}

/** Resolves once a SIGINT or SIGTERM has come and everything is finished. A second one, or a close that fails, kills the process. */
export function runUntilSignal(running: Running, announcer: Announcer): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false;
    const onSignal = () => {
      if (isStopping) return cutOff(running, announcer, "Stopped by a second signal.");
      isStopping = true;
      announcer.draining(running.inFlight().length);
      running.close().then(
        () => {
          announcer.stopped();
          resolve();
        },
        (reason) => cutOff(running, announcer, reasonText(reason)),
      );
    };
    for (const signal of SIGNALS) process.on(signal, onSignal);
  });
}

function cutOff(running: Running, announcer: Announcer, why: string): never {
  announcer.cutOff(running.inFlight(), why);
  running.abandon?.();
  killSelf();
}
