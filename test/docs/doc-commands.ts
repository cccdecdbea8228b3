import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** A command line of a document. */
export interface DocCommand {
  readonly page: string;
  /** File and line, for messages. */
  readonly place: string;
  /** The command as one line of a shell, without comments. */
  readonly text: string;
  /** Reason of a mark before its block by which no test runs it; absent = a test does. */
  readonly notRun?: string;
}

/** `<!-- not run: REASON -->` before a block: an example for another machine, or one that takes too long. */
const MARK = /^<!-- not run: (\S.*) -->$/;
/** Languages of fences that hold commands; an indented block does as well. */
const SHELLS = ["", "sh"];

/** The documents of the repository, by their paths. */
export function documents(): readonly string[] {
  return execFileSync("git", ["ls-files", "*.md"], { encoding: "utf8" }).trim().split("\n");
}

/** Command lines of a document, in their order. What a command prints stands in a fence of another language. */
export function commandsOf(page: string): readonly DocCommand[] {
  return blocksOf(readFileSync(page, "utf8")).flatMap(({ first, lines, notRun }) =>
    joined(lines).map(({ text, offset }) => ({
      page,
      place: `${page}:${first + offset}`,
      text,
      ...(notRun !== undefined && { notRun }),
    })),
  );
}

/** Commands within the sentences of a document; those that print help or the version are left out. */
export function spansOf(page: string): readonly string[] {
  const text = readFileSync(page, "utf8").replaceAll(/^ *```[\s\S]*?^ *```$/gm, "");
  const spans = [...text.matchAll(/`((?:kserving|npm run) [^`]+)`/g)].map(([, span = ""]) =>
    span.replaceAll("\n", " "),
  );
  return spans.filter((span) => !/--(?:help|version)\b|^kserving runtimes$/.test(span));
}

interface Block {
  /** Number of its first line. */
  readonly first: number;
  readonly lines: readonly string[];
  readonly notRun?: string | undefined;
}

function blocksOf(text: string): readonly Block[] {
  const lines = text.split("\n");
  const blocks: Block[] = [];
  for (let index = 0; index < lines.length; index++) {
    const fence = /^ *(`{3,})(\S*)/.exec(lines[index] as string);
    const isIndented = /^ {4}\S/.test(lines[index] as string);
    if (fence === null && !isIndented) continue;
    const before = lines.slice(0, index).findLast((line) => line.trim() !== "");
    const notRun = MARK.exec(before ?? "")?.[1];
    const isOver = (line: string) => (fence ? line.trim() === fence[1] : !/^(?: {4}|$)/.test(line));
    const start = fence ? index + 1 : index;
    const length = lines.slice(start).findIndex(isOver);
    const end = length === -1 ? lines.length : start + length;
    if (isIndented || SHELLS.includes(fence?.[2] as string))
      blocks.push({
        first: start + 1,
        lines: lines.slice(start, end).map((line) => line.replace(/^ {4}/, "")),
        notRun,
      });
    index = fence ? end : end - 1;
  }
  return blocks;
}

/** Lines of a block as commands: one ends where no quote is open and no backslash or pipe continues it. */
function joined(lines: readonly string[]): readonly { readonly text: string; readonly offset: number }[] {
  const commands: { text: string; offset: number }[] = [];
  let open: { text: string; offset: number } | undefined;
  lines.forEach((line, offset) => {
    open = open === undefined ? { text: line, offset } : { ...open, text: `${open.text}\n${line}` };
    const text = withoutComment(open.text.replaceAll(/\\\n\s*/g, " ")).trim();
    if (/[\\|]$/.test(text) || /['"]/.test(withoutQuoted(text))) return;
    if (text !== "") commands.push({ text, offset: open.offset });
    open = undefined;
  });
  return commands;
}

function withoutQuoted(text: string): string {
  return text.replaceAll(/'[^']*'|"(?:[^"\\]|\\.)*"/g, "");
}

function withoutComment(text: string): string {
  const parts = text.split(/('[^']*'|"(?:[^"\\]|\\.)*")/);
  const index = parts.findIndex((part, each) => each % 2 === 0 && /(?:^|\s)#/.test(part));
  if (index === -1) return text;
  return parts.slice(0, index).join("") + (parts[index] as string).replace(/(?:^|\s)#[\s\S]*/, "");
}

/** The programs of a command line, each with its words; what a shell would compute stays as it is written. */
export function programsOf(text: string): readonly (readonly string[])[] {
  const programs: string[][] = [[]];
  for (const [token, single, double] of text.matchAll(
    /(?:\$?'([^']*)'|"((?:[^"\\]|\\.)*)"|\\.|\$\([^()]*\)|<\(|[^\s'"|&;<>()])+|\|\|?|&&|[;()]|[<>]+ *\S+|&/g,
  )) {
    if (/^(?:\|\|?|&&?|[;()]|<\()$/.test(token)) programs.push([]);
    else if (!/^[<>]/.test(token)) programs.at(-1)?.push(unquoted(token, single ?? double));
  }
  return programs.map((words) => words.slice(words.findIndex((word) => !/^[A-Z_]+=/.test(word)))).filter(hasWords);
}

function hasWords(words: readonly string[]): boolean {
  return words.length > 0;
}

function unquoted(token: string, inner: string | undefined): string {
  if (inner === undefined) return token.replaceAll(/\\(.)/g, "$1");
  return token.replaceAll(
    /\$?'([^']*)'|"((?:[^"\\]|\\.)*)"/g,
    (_, single?: string, double?: string) => single ?? (double ?? "").replaceAll(/\\(["\\$])/g, "$1"),
  );
}
