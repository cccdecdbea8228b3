import { shellQuoted } from "../../text/shell-word.ts";
import type { Completion, FlagCompletion } from "./completions.ts";

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
${completions.flatMap((completion) => completion.flags.flatMap((flag) => valueCases(completion, flag))).join("\n")}
  esac
  case $command in
${completions.map(commandCase).join("\n")}
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

function commandCase({ words, flags, next }: Completion): string {
  const texts = flags.flatMap(({ names, help }) => names.map((name) => shellQuoted(`${name}:${help}`)));
  return `    ${words.join("/")}) flags=(${texts.join(" ")}); next=(${next.join(" ")}) ;;`;
}

function valueCases({ words }: Completion, { names, takesValue, choices }: FlagCompletion): string[] {
  if (!takesValue && choices.length === 0) return [];
  const pattern = names.map((name) => `${words.join("/")}:${name}`).join("|");
  return [`    ${pattern}) ${choices.length === 0 ? "_files" : `compadd ${choices.join(" ")}`}; return ;;`];
}
