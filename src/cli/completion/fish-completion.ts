import type { Completion, FlagCompletion } from "./completions.ts";

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
${completions.flatMap((completion) => toLines(program, completion)).join("\n")}
`;
}

function toLines(program: string, { words, help, flags, next }: Completion): string[] {
  const condition = `-n '__${program}_is ${words.join(" ")}'`;
  const own =
    words.length === 1 ? [`complete -c ${program} -n __${program}_is_first -a ${words[0]} -d ${quoted(help)}`] : [];
  const following = next.length === 0 ? [] : [`complete -c ${program} ${condition} -a '${next.join(" ")}'`];
  return [...own, ...following, ...flags.map((flag) => `complete -c ${program} ${condition} ${flagText(flag)}`)];
}

function flagText({ names, help, takesValue, choices }: FlagCompletion): string {
  const flags = names.map((name) => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  const values = choices.length > 0 ? [`-x -a '${choices.join(" ")}'`] : takesValue ? ["-r"] : [];
  return [...flags, ...values, `-d ${quoted(help)}`].join(" ");
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
