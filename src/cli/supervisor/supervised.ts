import type { SendHandle } from "node:child_process";
import { EventEmitter } from "node:events";
import { closeSync, readFileSync } from "node:fs";
import type { Server } from "node:net";
import { keepSockets } from "../../platform/net/listen.ts";
import { listeningSocketOf } from "../../platform/net/node-members.ts";
import { RunMarks, STATE } from "../../platform/processes/run-marks.ts";
import type { StartSecrets } from "./secrets.ts";
import {
  type AskingSignal,
  SUPERVISED_VARIABLE,
  type SupervisedInfo,
  type SupervisedMessage,
  type SupervisorMessage,
} from "./supervised-info.ts";

/** Milliseconds between two looks at the supervisor. */
const PARENT_MS = 1000;

type SignalListener = (signal: AskingSignal) => void;

/** A process that serves, as its supervisor has started it. */
export class Supervised {
  readonly info: SupervisedInfo;
  /** Absent if no file could be made. */
  readonly marks: RunMarks | undefined;
  readonly #listeners = new EventEmitter();
  readonly #counts = new Map<AskingSignal, SignalCount>();

  constructor(info: SupervisedInfo) {
    this.info = info;
    this.marks = info.marks === undefined ? undefined : new RunMarks(info.marks);
    process.on("message", (message: SupervisorMessage) => this.#count(message.signal, "told"));
    process.channel?.unref();
    void this.tell({ begun: true });
    endWithParent();
    keepSockets({
      taken: info.sockets.map(([title, fd]) => ({ title, fd })),
      keep: (title, server) => this.#keep(title, server),
    });
  }

  /**
   * Name of the model that alone was running when earlier processes of this server died. If several were, all but
   * one are innocent, and none is named: their clients wait for them as for others.
   */
  deadlyModel(): string | undefined {
    const names = new Set([...(this.marks?.died().values() ?? [])].map(({ name }) => name));
    return names.size === 1 ? [...names][0] : undefined;
  }

  on(signal: AskingSignal, listener: SignalListener): void {
    if (this.#listeners.listenerCount(signal) === 0) process.on(signal, this.#onOwn);
    this.#listeners.on(signal, listener);
  }

  off(signal: AskingSignal, listener: SignalListener): void {
    this.#listeners.off(signal, listener);
    if (this.#listeners.listenerCount(signal) === 0) process.off(signal, this.#onOwn);
  }

  /**
   * Says that this process serves, or that it is about to end by its own decision, or by a fault that no model has;
   * what was said first of its end holds. It is written at once, since a message might not be sent any more.
   */
  enter(state: Exclude<keyof typeof STATE, "starting">): void {
    const isEnding = this.marks?.state === STATE.ending || this.marks?.state === STATE.failed;
    if (this.marks !== undefined && !isEnding) this.marks.state = STATE[state];
  }

  /** Resolves once the message is sent, or cannot be. */
  tell(message: SupervisedMessage): Promise<void> {
    return new Promise((resolve) => process.send?.(message, undefined, undefined, () => resolve()));
  }

  readonly #onOwn = (signal: NodeJS.Signals) => this.#count(signal as AskingSignal, "own");

  /** A terminal and a service manager send a signal to both processes: it counts once. */
  #count(signal: AskingSignal, way: keyof SignalCount): void {
    const count = this.#counts.get(signal) ?? { own: 0, told: 0 };
    const before = Math.max(count.own, count.told);
    count[way]++;
    this.#counts.set(signal, count);
    if (count[way] <= before) return;
    if (this.#listeners.emit(signal, signal)) return;
    this.enter("ending");
    process.kill(process.pid, signal);
  }

  #keep(title: string, server: Server): Promise<void> {
    const socket = listeningSocketOf(server);
    const message: SupervisedMessage = { listening: title };
    return new Promise((resolve) => {
      if (socket === undefined) resolve();
      else process.send?.(message, socket as unknown as SendHandle, undefined, () => resolve());
    });
  }
}

/**
 * Ends this process when the supervisor was killed: what started that takes the program for ended. The channel's end
 * alone does not tell: Node.js is silent about it while a handle is under way.
 */
function endWithParent(): void {
  const parent = process.ppid;
  const end = () => process.kill(process.pid, "SIGKILL");
  process.once("disconnect", end);
  setInterval(() => process.ppid === parent || end(), PARENT_MS).unref();
}

interface SignalCount {
  /** Signals that this process got itself. */
  own: number;
  /** Signals that the supervisor has passed on. */
  told: number;
}

let current: Supervised | undefined;

/**
 * Takes what a supervisor has passed, of which child processes are to know nothing; gives the secrets among it, if
 * there are any.
 */
export function takeSupervised(env: NodeJS.ProcessEnv): StartSecrets | undefined {
  const { [SUPERVISED_VARIABLE]: text } = env;
  delete env[SUPERVISED_VARIABLE];
  // A variable of that name from elsewhere has no channel.
  if (text === undefined || process.send === undefined) return undefined;
  const info = JSON.parse(text) as SupervisedInfo;
  current = new Supervised(info);
  return info.secrets === undefined ? undefined : readSecrets(info.secrets);
}

function readSecrets(pipe: number): StartSecrets {
  try {
    return JSON.parse(readFileSync(pipe, "utf8")) as StartSecrets;
  } finally {
    closeSync(pipe);
  }
}

/** This process as its supervisor knows it; undefined if it has none. */
export function supervised(): Supervised | undefined {
  return current;
}

/** Calls back at a signal by which a person or a service manager asks for something, once however it comes. */
export function onAsked(signal: AskingSignal, listener: SignalListener): void {
  if (current === undefined) process.on(signal, listener as NodeJS.SignalsListener);
  else current.on(signal, listener);
}

/** Ends what {@link onAsked} began. */
export function offAsked(signal: AskingSignal, listener: SignalListener): void {
  if (current === undefined) process.off(signal, listener as NodeJS.SignalsListener);
  else current.off(signal, listener);
}
