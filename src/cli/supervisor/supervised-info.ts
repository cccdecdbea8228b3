/** The variable by which a supervised process knows what it has from its supervisor. */
export const SUPERVISED_VARIABLE = "KSERVING_SUPERVISED";

/** The end of a process that was not its own decision. */
export interface ProcessDeath {
  /** Such as "SIGSEGV", or "exit code 3". */
  readonly how: string;
  /** Names of the models that were running, the first few. */
  readonly models: readonly string[];
}

/** Things that a supervisor gives the process that serves; descriptors are that process's. */
export interface SupervisedInfo {
  /** Of the marks of runs; absent if no file could be made. */
  readonly marks?: number;
  /** Of a pipe with the {@link StartSecrets}; absent if there are none. */
  readonly secrets?: number;
  /** Listening sockets that an earlier process has opened, by the address that was asked for. */
  readonly sockets: readonly (readonly [title: string, fd: number])[];
  /** Deaths since the supervisor started. */
  readonly deaths: number;
  readonly death?: ProcessDeath;
}

/** Signals that a supervisor passes on: those by which people and service managers ask for something. */
export const ASKING_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR2"] as const;
/** One of {@link ASKING_SIGNALS}. */
export type AskingSignal = (typeof ASKING_SIGNALS)[number];

/** Messages of a supervisor. */
export type SupervisorMessage = { readonly signal: AskingSignal };

/** Messages of the process that serves. */
export type SupervisedMessage =
  /** It has begun. */
  | { readonly begun: true }
  /** With the handle of a socket that listens. */
  | { readonly listening: string }
  /** Nothing listens any more. */
  | { readonly released: true }
  /** Process groups of the program that end with it. */
  | { readonly owned: readonly number[] }
  /** A line for systemd's socket at a path. */
  | { readonly notify: string; readonly path: string };
