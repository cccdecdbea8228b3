/** Commands that take another server's command line. */
export const FOREIGN_COMMAND_NAMES = [
  "tensorflow-model-server",
  "ovms",
  "ie_serving",
  "simple-tensorflow-serving",
  "kserve",
] as const;
/** One of {@link FOREIGN_COMMAND_NAMES}. */
export type ForeignCommandName = (typeof FOREIGN_COMMAND_NAMES)[number];

/** Commands with a parser of their own, and what help says of each. */
export const COMMANDS = {
  inspect: "show what a model is, and which drivers can run it",
  infer: "run a model once, here or at a server",
  compare: "run a model on several drivers or servers, and compare outputs and speed",
  bench: "put a load on a model, and measure throughput and latency",
  mcp: "let an assistant use models as tools, over standard input and output",
  client: "write the types of served models, for programs that call them",
  tune: "try drivers, threads and batch sizes for a model, and print the best",
  drivers: "list drivers and their options",
  new: "write a folder with hooks, a driver or a project, and its test",
  export: "write the files that run a command line in Docker, Kubernetes, KServe or SageMaker",
  doctor: "look at this machine, runtimes and settings: what is wrong, and what mends it",
  completion: "print a script by which bash, zsh or fish complete command lines",
  replay: "send recorded requests again, and compare the answers",
  health: "tell whether a server is ready",
  config: "check and explain configuration files",
  runtimes: "list and install the runtimes of drivers",
  "hash-password": "write a line for --auth-users",
  "hash-token": "write a line for --auth-tokens",
} as const satisfies Readonly<Record<string, string>>;

/** One of {@link COMMANDS}. */
export type CommandName = keyof typeof COMMANDS;

/**
 * The words that may stand first on the command line. `serve` is meant if none
 * does; the others take flags or commands of their own.
 */
export const COMMAND_NAMES: readonly string[] = ["serve", "proxy", ...Object.keys(COMMANDS), ...FOREIGN_COMMAND_NAMES];

/** Checks if a word is one of {@link COMMANDS}. */
export function isCommand(word: string | undefined): word is CommandName {
  return word !== undefined && Object.hasOwn(COMMANDS, word);
}

/** The command of another server that a word means, with dashes or underscores; undefined for any other word. */
export function foreignCommand(word: string | undefined): ForeignCommandName | undefined {
  const plain = word?.replaceAll("-", "_");
  return FOREIGN_COMMAND_NAMES.find((name) => name.replaceAll("-", "_") === plain);
}
