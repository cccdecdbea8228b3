import { Argument, type Command, type Option } from "commander";
import { DRIVER_NAMES } from "../../drivers/registry.ts";
import { invalidArgument } from "../../errors.ts";
import { shellQuoted } from "../../platform/text/terminal.ts";
import { COMMANDS } from "../command-names.ts";
import { createParser, runParser } from "./create-parser.ts";

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

const EPILOGUE = `
Examples:
  source <(kserving completion bash)
  kserving completion bash > ~/.local/share/bash-completion/completions/kserving
  kserving completion zsh > ~/.zfunc/_kserving
  kserving completion fish > ~/.config/fish/completions/kserving.fish
  kserving completion --json
`;

/** The parsers of all commands by name. */
type Parsers = () => Promise<ReadonlyMap<string, Command>>;

/** `kserving completion`: prints a script by which a shell completes command lines, or the data of such scripts. */
export function completion(argv: readonly string[], parsers: Parsers): Promise<void> {
  const action = (shell: keyof typeof SHELLS | undefined, flags: Flags) => run(shell, flags, parsers);
  return runParser(createCompletionCommand().action(action), argv);
}

/** The parser of `kserving completion`. */
export function createCompletionCommand(): Command {
  return createParser("completion", {
    description: "Prints a script by which a shell completes commands, flags, drivers and paths.",
    epilogue: EPILOGUE,
  })
    .addArgument(new Argument("[shell]", "the shell").choices(Object.keys(SHELLS)))
    .option("--json", "print commands and flags as JSON, for other shells and editors");
}

interface Flags {
  readonly json?: boolean;
}

async function run(shell: keyof typeof SHELLS | undefined, { json = false }: Flags, parsers: Parsers): Promise<void> {
  if (json === (shell !== undefined))
    throw invalidArgument(
      `Expected one of ${Object.keys(SHELLS).join(", ")} or --json, as in: kserving completion bash`,
    );
  const completions = toCompletions(await parsers());
  const data = () => `${JSON.stringify(completions, null, 2)}\n`;
  process.stdout.write(shell === undefined ? data() : SHELLS[shell]("kserving", completions));
}

/** A script for bash 3.2 and later, without the package bash-completion. */
export function bashCompletion(program: string, completions: readonly Completion[]): string {
  const commands = completions.filter(({ words }) => words.length === 1);
  const names = commands.map(({ words }) => words[0]).join(" ");
  const values = completions.flatMap((completion) =>
    completion.flags.flatMap((flag) => bashValues(program, completion, flag)),
  );
  const nested = completions.filter(({ words }) => words.length === 2).map(({ words }) => words.join("/"));
  return `# bash completion of ${program}; load it with: source <(${program} completion bash)
_${program}_words() {
  local IFS=' '
  compgen -W "$1" -- "$2"
}
_${program}() {
  # Paths may have spaces.
  local IFS=$'\\n'
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command=serve flags= next=
  if ((COMP_CWORD > 1)); then
    case \${COMP_WORDS[1]} in
      ${commands.map(({ words }) => words[0]).join("|")}) command=\${COMP_WORDS[1]} ;;
    esac
    case $command/\${COMP_WORDS[2]} in
      ${nested.join("|")}) ((COMP_CWORD > 2)) && command=$command/\${COMP_WORDS[2]} ;;
    esac
  fi
  COMPREPLY=()
  case $command:$prev in
${values.join("\n")}
  esac
  case $command in
${completions.map(bashCommand).join("\n")}
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(_${program}_words "$flags" "$cur"))
    return
  fi
  ((COMP_CWORD == 1)) && next="$next ${names}"
  COMPREPLY=($(_${program}_words "$next" "$cur") $(compgen -f -- "$cur"))
}
complete -o filenames -F _${program} ${program}
`;
}

function bashCommand({ words, flags, next }: Completion): string {
  const names = flags.flatMap((flag) => flag.names).join(" ");
  return `    ${words.join("/")}) flags="${names}" next="${next.join(" ")}" ;;`;
}

/** The values of a flag, or paths. */
function bashValues(program: string, { words }: Completion, { names, takesValue, choices }: FlagCompletion): string[] {
  if (!takesValue && choices.length === 0) return [];
  const pattern = names.map((name) => `${words.join("/")}:${name}`).join("|");
  const offered = choices.length === 0 ? `compgen -f -- "$cur"` : `_${program}_words "${choices.join(" ")}" "$cur"`;
  return [`    ${pattern}) COMPREPLY=($(${offered})); return ;;`];
}

/** A script for fish 3 and later. */
export function fishCompletion(program: string, completions: readonly Completion[]): string {
  const commands = completions.filter(({ words }) => words.length === 1);
  const names = commands.map(({ words }) => words[0]).join(" ");
  return `# fish completion of ${program}; load it with: ${program} completion fish | source
function __${program}_is
    set -l words (commandline -opc)
    set -l command serve
    if set -q words[2]; and contains -- $words[2] ${names}
        set command $words[2]
    end
    test $command = $argv[1]; or return 1
    set -q argv[2]; or return 0
    set -q words[3]; and test $words[3] = $argv[2]
end
function __${program}_is_first
    test (count (commandline -opc)) = 1
end
${completions.flatMap((completion) => fishLines(program, completion)).join("\n")}
`;
}

function fishLines(program: string, { words, help, flags, next }: Completion): string[] {
  const condition = `-n '__${program}_is ${words.join(" ")}'`;
  const own =
    words.length === 1 ? [`complete -c ${program} -n __${program}_is_first -a ${words[0]} -d ${fishQuoted(help)}`] : [];
  const following = next.length === 0 ? [] : [`complete -c ${program} ${condition} -a '${next.join(" ")}'`];
  return [...own, ...following, ...flags.map((flag) => `complete -c ${program} ${condition} ${fishFlag(flag)}`)];
}

function fishFlag({ names, help, takesValue, choices }: FlagCompletion): string {
  const flags = names.map((name) => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  const values = choices.length > 0 ? [`-x -a '${choices.join(" ")}'`] : takesValue ? ["-r"] : [];
  return [...flags, ...values, `-d ${fishQuoted(help)}`].join(" ");
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

/** A script for zsh with its completion system (compinit). */
export function zshCompletion(program: string, completions: readonly Completion[]): string {
  const commands = completions.filter(({ words }) => words.length === 1);
  const nested = completions.filter(({ words }) => words.length === 2).map(({ words }) => words.join("/"));
  return `#compdef ${program}
# zsh completion of ${program}; load it with: source <(${program} completion zsh)
_${program}() {
  local command=serve previous=\${words[CURRENT-1]}
  local -a flags next commands
  commands=(
${commands.map(({ words, help }) => `    ${shellQuoted(`${words[0]}:${help}`)}`).join("\n")}
  )
  if (( CURRENT > 2 )); then
    case \${words[2]} in
      ${commands.map(({ words }) => words[0]).join("|")}) command=\${words[2]} ;;
    esac
    case $command/\${words[3]} in
      ${nested.join("|")}) (( CURRENT > 3 )) && command=$command/\${words[3]} ;;
    esac
  fi
  case $command:$previous in
${completions.flatMap((completion) => completion.flags.flatMap((flag) => zshValues(completion, flag))).join("\n")}
  esac
  case $command in
${completions.map(zshCommand).join("\n")}
  esac
  if [[ $PREFIX == -* ]]; then
    _describe -o flag flags
    return
  fi
  (( CURRENT == 2 )) && _describe command commands
  (( \${#next} )) && compadd -a next
  _files
}
compdef _${program} ${program}
# A file of fpath is the function's body when it is called first.
[[ \${funcstack[1]} != _${program} ]] || _${program} "$@"
`;
}

function zshCommand({ words, flags, next }: Completion): string {
  const texts = flags.flatMap(({ names, help }) => names.map((name) => shellQuoted(`${name}:${help}`)));
  return `    ${words.join("/")}) flags=(${texts.join(" ")}); next=(${next.join(" ")}) ;;`;
}

function zshValues({ words }: Completion, { names, takesValue, choices }: FlagCompletion): string[] {
  if (!takesValue && choices.length === 0) return [];
  const pattern = names.map((name) => `${words.join("/")}:${name}`).join("|");
  return [`    ${pattern}) ${choices.length === 0 ? "_files" : `compadd ${choices.join(" ")}`}; return ;;`];
}

/** A command as shells complete it; one that has commands is followed by those, as `runtimes install`. */
export interface Completion {
  /** Its words: `["runtimes", "install"]`. */
  readonly words: readonly string[];
  readonly help: string;
  readonly flags: readonly FlagCompletion[];
  /** Words that may follow it in place of a path. */
  readonly next: readonly string[];
}

/** A flag as shells complete it. */
export interface FlagCompletion {
  /** `--port`, and `-o` if it has one. */
  readonly names: readonly string[];
  readonly help: string;
  readonly takesValue: boolean;
  /** The values that it may have; empty = any, such as a path. */
  readonly choices: readonly string[];
}

/** The completions of all commands, from their parsers. */
export function toCompletions(parsers: ReadonlyMap<string, Command>): readonly Completion[] {
  const help: Readonly<Record<string, string>> = { ...HELP, ...COMMANDS };
  return [...parsers].flatMap(([name, parser]) => [
    toCompletion([name], parser, help[name] ?? ""),
    ...parser.commands.map((each) => toCompletion([name, each.name()], each, each.description())),
  ]);
}

const HELP = { serve: "serve models", proxy: "serve HTTP for a gRPC server that runs elsewhere" };

function toCompletion(words: readonly string[], parser: Command, help: string): Completion {
  const flags = parser.options.filter(({ hidden }) => !hidden).map(toFlag);
  const own = { names: ["--help", "-h"], help: "print this help", takesValue: false, choices: [] };
  const next = words[0] === "drivers" ? DRIVER_NAMES : parser.commands.map((command) => command.name());
  const choices = parser.registeredArguments.flatMap((argument) => argument.argChoices ?? []);
  return { words, help, flags: [...flags, own], next: [...next, ...choices] };
}

function toFlag({ long, short, description, required, argChoices }: Option): FlagCompletion {
  const names = [long, short].filter((name) => name !== undefined && name !== null);
  const choices = argChoices ?? (long === "--driver" ? DRIVER_NAMES : (choicesIn(description) ?? []));
  return { names, help: description, takesValue: required, choices };
}

/** Settings have their choices in the text of their help: `certificates: grpc, all (default: all)`. */
function choicesIn(description: string): readonly string[] | undefined {
  const list = /: ([a-z-]+(?:, [a-z-]+)+)(?: \(default|$)/.exec(description)?.[1];
  return list?.split(", ");
}
