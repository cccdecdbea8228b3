import { shellQuoted } from "../../platform/text/terminal.ts";
import type { Completion, FlagCompletion } from "./completions.ts";

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
