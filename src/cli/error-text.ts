import { existsSync, realpathSync } from "node:fs";
import { delimiter, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { meantInError } from "../drivers/file-kind.ts";
import { reasonText, ServingError } from "../errors.ts";
import { findUserFrame, placeOf, toExcerpt, type UserFrame } from "../observability/user-frame.ts";
import { maskSecrets } from "../platform/text/mask-secrets.ts";
import { printable } from "../platform/text/terminal.ts";

/** Parts that are printed in addition to the message. */
export interface ErrorTextOptions {
  /** The causes of the error, one paragraph for each, with stacks. An unforeseen error is its own cause. */
  readonly causes: boolean;
  /** The line of code in the user's own file; the place alone is part of the first line otherwise. */
  readonly excerpt: boolean;
}

/** A failed start as one line, with more lines if they are wanted. */
export function toErrorText(reason: unknown, { causes, excerpt }: ErrorTextOptions): string {
  const message = `kserving: ${asStarted(reasonText(reason) + meantInError(reason))
    .replace(/\s*\n\s*/g, " ")
    .trim()}`;
  const frame = findUserFrame(reason);
  const line = frame === undefined || excerpt ? message : withPlace(message, frame);
  const place = frame === undefined || !excerpt ? [] : toExcerpt(frame).map((text) => `  ${text}`);
  const chain = reason instanceof ServingError ? causeChain(reason) : [reason, ...causeChain(reason)];
  const paragraphs = causes ? chain.map((cause) => `  caused by: ${indent(inspectCause(cause))}`) : [];
  return `${printable(maskSecrets([line, ...place, ...paragraphs].join("\n")))}\n`;
}

/** The compiler's messages name the place already. */
function withPlace(message: string, frame: UserFrame): string {
  return message.includes(`:${frame.line}:${frame.column}`) ? message : `${message} (at ${placeOf(frame)})`;
}

function causeChain(reason: unknown): unknown[] {
  const chain: unknown[] = [];
  let cause = causeOf(reason);
  while (cause !== undefined && cause !== reason && !chain.includes(cause)) {
    chain.push(cause);
    cause = causeOf(cause);
  }
  return chain;
}

function causeOf(reason: unknown): unknown {
  return reason instanceof Error ? reason.cause : undefined;
}

function inspectCause(cause: unknown): string {
  if (cause instanceof Error) return cause.stack ?? reasonText(cause);
  return inspect(cause);
}

function indent(text: string): string {
  return text.replaceAll("\n", "\n  ");
}

const PROGRAM = fileURLToPath(new URL("../../bin/kserving.cjs", import.meta.url));
/** Our commands as messages name them. */
const COMMANDS = /(?<![\w./-])kserving (?=runtimes (?:list\b|install [a-z]))/g;

/** A message whose commands are written so that they work where the user stands. */
export function asStarted(text: string, started = startedAs()): string {
  return text.replace(COMMANDS, () => `${started} `);
}

/** The program's name if the shell finds it, `npx kserving` in a project that has it, else Node with its file. */
function startedAs(program = PROGRAM, env = process.env): string {
  const own = resolved(program);
  const isOwn = (folder: string) => resolved(join(folder, "kserving")) === own && own !== undefined;
  // npm and npx put folders into the path that the user's shell does not have.
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => !/node_modules[/\\]\.bin[/\\]?$/.test(folder));
  if (folders.some(isOwn)) return "kserving";
  if (isOwn(join(process.cwd(), "node_modules", ".bin"))) return "npx kserving";
  const near = relative(process.cwd(), program);
  return `node ${near.startsWith("..") ? program : near}`;
}

function resolved(path: string): string | undefined {
  return existsSync(path) ? realpathSync(path) : undefined;
}
