import { invalidArgument, type ServingError } from "../errors.ts";
import { LogTail } from "../observability/live/log-tail.ts";
import { type LogFile, openLogFile } from "../observability/log-file.ts";
import type { LogLevel } from "../observability/log-filter.ts";
import { LogFilter } from "../observability/log-filter.ts";
import { createTextOutput, type LogOutput, surviveOutputErrors } from "../observability/log-output.ts";
import { createOutputLogger, type Logger } from "../observability/logger.ts";
import { LiveLine } from "./live-line.ts";

/** Settings of the program's log. */
export interface ProgramLogOptions {
  readonly logLevel: LogLevel;
  /** `auto` = for people at a terminal, JSON elsewhere. */
  readonly logFormat: "auto" | "text" | "json";
  readonly logPath: string | undefined;
  readonly accessLog: boolean;
  /** Default: standard output. */
  readonly output?: NodeJS.WriteStream & { readonly fd: number };
}

/** The program's log. */
export interface ProgramLog {
  /** Writes to standard output and to the file. */
  readonly log: Logger;
  /** Writes to the file, if there is one, and to the page: for what people at the terminal see in another form. */
  readonly fileLog: Logger;
  /** Opens the file again, on SIGUSR2, as log rotation asks. Without a file it says that there is none. */
  readonly reopen: () => void;
  /** A terminal that a person watches; absent if standard output is not a terminal, or is to be JSON. */
  readonly terminal?: LiveLine;
}

/**
 * Opens the log: standard output in the chosen form, and a file of JSON lines in addition. Throws `failed_precondition`
 * for a file that cannot be opened, `invalid_argument` for a level that would leave the access log out.
 */
export function openProgramLog(options: ProgramLogOptions): ProgramLog {
  const { logLevel, logFormat, logPath, accessLog, output = process.stdout } = options;
  surviveOutputErrors();
  const filter = new LogFilter(logLevel);
  if (accessLog && !filter.writes("info")) throw accessLogLeftOut(logLevel);
  const screen = output.isTTY && logFormat !== "json" ? new LiveLine(output) : undefined;
  const terminal = screen && { terminal: screen };
  const isText = logFormat === "text" || (logFormat === "auto" && output.isTTY);
  const isVerbose = () => filter.writes("debug");
  const console = isText ? createTextOutput(screen ?? output, { isVerbose }) : output;
  const tail = new LogTail();
  const logTo = (...outputs: readonly LogOutput[]) => tail.follow(createOutputLogger(outputs, filter));
  if (logPath === undefined) {
    const log = logTo(console);
    const none = () => log.info("there is no log file to open again; --log-path names one");
    return { log, fileLog: logTo(), reopen: none, ...terminal };
  }
  const file = openLogFile(logPath);
  const fileLog = logTo(file);
  // That output may have been redirected to the same file.
  const log = file.isSameAs(output.fd) ? fileLog : logTo(console, file);
  return { log, fileLog, reopen: () => reopen(file, log), ...terminal };
}

function reopen(file: LogFile, log: Logger): void {
  try {
    file.reopen();
    log.info("the log file was opened again");
  } catch (err) {
    log.error("the log file cannot be opened again; the one that is open goes on", { err });
  }
}

function accessLogLeftOut(level: LogLevel): ServingError {
  const message = `--access-log writes at level info, which --log-level ${level} leaves out; choose info or debug, or leave --access-log out.`;
  return invalidArgument(message);
}
