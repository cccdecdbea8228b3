/** One version of a model, as a history wishes for it. */
export interface WishedVersion {
  readonly version: number;
  /** The content of its files. */
  readonly print: string;
  /** The content of its hook file; absent = it has none. */
  readonly hooks?: number;
  /** Names of the models that are its stages. */
  readonly needs?: readonly string[];
  /** Memory that it takes, in bytes. */
  readonly bytes?: number;
  /** Names of models that its hooks ask, which nobody else knows of. */
  readonly calls?: readonly string[];
  /** True if its warm-up asks the models that it needs or calls. */
  readonly warms?: boolean;
  /** True if its files are fetched before they are loaded. */
  readonly isFetched?: boolean;
  /** Name of its only input: another one makes it another model to those that need it. Default `x`. */
  readonly takes?: "x" | "y";
  /** True if nothing can load it, which is known before. */
  readonly isRefused?: boolean;
}

/** The wished versions of a model. */
export interface WishedModel {
  readonly name: string;
  readonly versions: readonly WishedVersion[];
  readonly labels?: Readonly<Record<string, number>>;
  /** As AspiredModel has it. */
  readonly idleMs?: number;
  /** Versions whose files are there; absent = those that are wished. Others cannot be loaded. */
  readonly present?: readonly number[];
}

/** One thing that comes from outside. */
export type Command = CommandFrame &
  (
    | { readonly do: "wish"; readonly models: readonly WishedModel[] }
    | { readonly do: "load" | "unload" | "unload with dependents"; readonly model: string }
    | { readonly do: "reload hooks" | "statistics" }
    | AskCommand
    | { readonly do: "keep"; readonly model: string; readonly forMs: number }
  );

interface CommandFrame {
  /** Milliseconds since the beginning. */
  readonly at: number;
  /** Its name among the steps, which decides what chance makes of it; absent = its place. */
  readonly id?: number;
}

/** A request of a client. */
export interface AskCommand {
  readonly do: "ask";
  readonly model: string;
  readonly version?: number;
  readonly label?: string;
  /** Time until the whole request has come, in milliseconds. */
  readonly bodyMs?: number;
  /** Time after which the client leaves; absent = it stays. */
  readonly leavesAfterMs?: number;
  readonly queueTimeoutMs?: number;
}

/** Settings of a server, under their own names. */
export interface Limits {
  readonly loadThreads: number;
  readonly loadTimeoutMs: number;
  readonly loadRetries: number;
  readonly loadRetryMs: number;
  readonly idleUnloadMs: number;
  readonly strictReadiness: boolean;
  readonly allowLabelsForUnavailable: boolean;
  /** 0 = no limit. */
  readonly modelMemory: number;
}

/** Kinds of work outside the server, each of which may go wrong. */
export type EdgeKind = "prepare" | "open" | "load" | "warm" | "run" | "close" | "hooks" | "statistics";

/** The end of one piece of such work. `late` = it does not care that nobody wants it any more. */
export type Outcome = "ok" | "fails" | "hangs" | "late";

/** Weights of the ends of work outside beside 1 for success, by its kind; kinds that are left out always succeed. */
export type Faults = Readonly<Partial<Record<EdgeKind, Readonly<Partial<Record<Outcome, number>>>>>>;

/** Everything that decides about one run of the simulation. */
export interface History {
  readonly seed: number;
  readonly limits: Limits;
  readonly faults: Faults;
  /** Times that work outside may take, in milliseconds. */
  readonly delays: readonly number[];
  /** Ends that are given, in place of those that chance chooses: by kind and key, for each attempt. */
  readonly given?: Readonly<Record<string, readonly GivenEnd[]>>;
  readonly commands: readonly Command[];
  /** The moment at which the server ends, whatever goes on; absent = once all is quiet. */
  readonly closesAt?: number;
}

/** The end of one attempt, and its time in milliseconds. */
export interface GivenEnd {
  readonly outcome?: Outcome;
  readonly ms?: number;
}

interface FilesOfModel {
  readonly model: string;
  /** The content of the hook file; undefined = there is none. */
  readonly hooks?: number | undefined;
}

/** True if a version's files are there, with these contents. */
export function isThere(
  models: readonly WishedModel[],
  { model, version, print, hooks }: Pick<WishedVersion, "version" | "print"> & FilesOfModel,
): boolean {
  const { versions = [], present } = models.find(({ name }) => name === model) ?? {};
  const wished = versions.find((one) => one.version === version);
  if (wished === undefined) return present?.includes(version) === true;
  const isPresent = present === undefined || present.includes(version);
  return isPresent && wished.print === print && wished.hooks === hooks;
}

/** Everything that is wished at any time. */
export function wishesOf({ commands }: History): readonly WishedModel[] {
  return commands.flatMap((command) => (command.do === "wish" ? command.models : []));
}
