import type { Completion, FlagCompletion } from "./completions.ts";

/** A script for bash 3.2 and later, without the package bash-completion. */
export function bashCompletion(program: string, completions: readonly Completion[]): string {
  const commands = completions.filter(({ words }) => words.length === 1);
  const names = commands.map(({ words }) => words[0]).join(" ");
  const values = completions.flatMap((completion) =>
    completion.flags.flatMap((flag) => valueCases(program, completion, flag)),
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
${completions.map(commandCase).join("\n")}
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

function commandCase({ words, flags, next }: Completion): string {
  const names = flags.flatMap((flag) => flag.names).join(" ");
  return `    ${words.join("/")}) flags="${names}" next="${next.join(" ")}" ;;`;
}

/** The values of a flag, or paths. */
function valueCases(program: string, { words }: Completion, { names, takesValue, choices }: FlagCompletion): string[] {
  if (!takesValue && choices.length === 0) return [];
  const pattern = names.map((name) => `${words.join("/")}:${name}`).join("|");
  const offered = choices.length === 0 ? `compgen -f -- "$cur"` : `_${program}_words "${choices.join(" ")}" "$cur"`;
  return [`    ${pattern}) COMPREPLY=($(${offered})); return ;;`];
}
