import { styleText } from "node:util";
import { reasonText } from "../errors.ts";
import { printable } from "../platform/text/terminal.ts";
import { findUserFrame, toExcerpt } from "./user-frame.ts";

const INDENT = "         ";
/** Characters of a field's value that are shown. */
const MAX_VALUE = 400;
const STYLES = { warn: "yellow", error: "red", info: "green" } as const;

/** A destination of log lines. */
export interface LogOutput {
  /** Writes one event: a line of JSON with its line break. Never throws. */
  write(line: string): void;
}

let isWatching = false;

/**
 * Keeps the process alive if its standard output or standard error is closed, or their disk is full: without a
 * listener the first line that is lost would end it. The loss of standard output is reported once, on standard error.
 */
export function surviveOutputErrors(): void {
  if (isWatching) return;
  isWatching = true;
  process.stderr.on("error", () => {});
  process.stdout.once("error", (reason) => reportLogLoss("to standard output", reason));
  process.stdout.on("error", () => {});
}

/** Reports on standard error that the log is being lost. */
export function reportLogLoss(whereTo: string, reason: unknown): void {
  process.stderr.write(
    `kserving: the log cannot be written ${whereTo} any more: ${reasonText(reason)}; the server goes on without it.\n`,
  );
}

/** Form of printed events. */
interface TextOptions {
  /** True to print an error's stacks after it, with the program's own frames. */
  readonly isVerbose: () => boolean;
}

/** One event of the log, as JSON has it. */
type LoggedEvent = Readonly<Record<string, unknown>>;

/** A stream on which the program writes for people. */
type TextStream = Pick<NodeJS.WriteStream, "write" | "isTTY">;

/**
 * Prints a log for people: the time, the level, the message; for an error the place in
 * the user's own file with its line of code.
 */
export function createTextOutput(stream: TextStream, { isVerbose }: TextOptions): LogOutput {
  return {
    write: (line) => {
      stream.write(`${textOf(line, { isVerbose: isVerbose(), isColoured: stream.isTTY === true })}\n`);
    },
  };
}

interface TextChoices {
  readonly isVerbose: boolean;
  readonly isColoured: boolean;
}

/** The line unchanged if it is no JSON: a log must not end the program. */
function textOf(line: string, choices: TextChoices): string {
  try {
    return toText(JSON.parse(line), choices);
  } catch {
    return printable(line);
  }
}

function toText(event: LoggedEvent, { isVerbose, isColoured }: TextChoices): string {
  const { level, time, msg, err, ...fields } = event;
  const head = `${clockTime(String(time))} ${levelText(String(level), isColoured)} ${toMessage(String(msg), err)}`;
  const values = Object.entries(fields).map(([name, value]) => `${printable(name)}=${toValue(value)}`);
  if (err === undefined) return indent([[head, ...values].join("  ")]);
  const frame = findUserFrame(err);
  const excerpt = frame === undefined ? [] : toExcerpt(frame);
  const stacks = isVerbose ? stacksOf(err) : [];
  return indent([head, ...excerpt, ...(values.length > 0 ? [values.join("  ")] : []), ...stacks]);
}

/** Hours, minutes and seconds of this machine's clock. */
function clockTime(time: string): string {
  return new Date(time).toTimeString().slice(0, 8);
}

function levelText(level: string, isColoured: boolean): string {
  const text = level.toUpperCase().padEnd(5);
  const style = STYLES[level as keyof typeof STYLES];
  return isColoured && style !== undefined ? styleText(style, text) : text;
}

/** The event's message with the error's own, unless it says that already. */
function toMessage(msg: string, err: unknown): string {
  if (err === undefined) return printable(msg);
  const own = messageOf(err);
  return printable(own === "" || msg.includes(own) ? msg : `${msg}: ${own}`);
}

function messageOf(err: unknown): string {
  if (typeof err !== "object" || err === null) return String(err);
  const { message } = err as { message?: unknown };
  return typeof message === "string" ? message : JSON.stringify(err);
}

function toValue(value: unknown): string {
  const text = typeof value === "string" && /^[^\s"=]+$/.test(value) ? value : (JSON.stringify(value) ?? "");
  return printable(text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text);
}

/** The stacks of an error and of its causes, outermost first. */
function stacksOf(err: unknown): string[] {
  if (typeof err !== "object" || err === null) return [];
  const { stack, cause } = err as { stack?: unknown; cause?: unknown };
  return [printable(String(stack ?? messageOf(err))), ...stacksOf(cause)];
}

function indent(lines: readonly string[]): string {
  return lines.join("\n").replaceAll("\n", `\n${INDENT}`);
}
