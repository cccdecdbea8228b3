import { BOOLEANS } from "../../drivers/option-table.ts";
import { invalidArgument } from "../../errors.ts";
import { MAX_TIMER_MS } from "../../platform/limits/call-limits.ts";
import type { Setting } from "../../platform/limits/settings/setting.ts";
import { didYouMean } from "../../platform/text/nearest.ts";
import { isPortNumber, parseHost } from "../addresses/address-text.ts";

/** A setting's text with its source, for messages: a flag or an environment variable. */
export interface GivenText {
  readonly source: string;
  readonly text: string;
}

/** A longer time, 24 days and more, would end at once: it is as long as there are timers for. */
const MAX_TIME_MS = Math.floor(MAX_TIMER_MS / 1000) * 1000;

/**
 * Reads one setting's text, seconds as milliseconds; choices, true and false in upper or lower case. Throws
 * `invalid_argument` naming the source, what came and what was expected.
 */
export function readSetting(setting: Setting, given: GivenText): string | number | boolean | readonly string[] {
  const { text } = given;
  switch (setting.type) {
    case "text":
      if (setting.form?.pattern.test(text) === false) return refuse(given, setting.form.expected);
      return text === "" ? refuse(given, "a text that is not empty") : text;
    case "host":
      return (
        parseHost(text) ??
        refuse(given, "an IP address or a name of this machine, for example 0.0.0.0, localhost or ::1")
      );
    case "address":
      return isAddress(text)
        ? text
        : refuse(given, "HOST:PORT, for example 127.0.0.1:9000, or grpcs://HOST:PORT for an encrypted connection");
    case "boolean":
      return BOOLEANS.get(text.toLowerCase()) ?? refuse(given, "true or false");
    case "choice":
      return readChoice(setting, given);
    case "port":
      return /^\d+$/.test(text) && Number(text) <= 65535
        ? Number(text)
        : refuse(given, "an integer from 0 to 65535 (0 picks a free port)");
    case "count":
      return /^\d+$/.test(text) && Number(text) >= setting.min && Number.isSafeInteger(Number(text))
        ? Number(text)
        : refuse(given, `an integer of ${setting.min} or more`);
    case "seconds":
      return (setting.isSigned ? /^-?\d+(\.\d+)?s?$/ : /^\d+(\.\d+)?s?$/).test(text)
        ? Math.min(Number.parseFloat(text) * 1000, MAX_TIME_MS)
        : refuse(given, "a number of seconds, for example 25 or 0.5");
    case "share":
      return /^\d*\.?\d+(e-\d+)?$/i.test(text) && Number(text) <= 1
        ? Number(text)
        : refuse(given, "a number from 0 to 1, for example 0.01");
    case "bytes":
      return setting.isMemory ? readMemory(given) : readBytes(given);
    case "command":
      return splitCommand(text) ?? refuse(given, "a program with its arguments, every quote closed");
    case "list":
      return splitList(text, setting.separator);
  }
}

function readChoice(setting: Setting & { type: "choice" }, given: GivenText): string {
  const { choices, bare } = setting;
  const { text } = given;
  const isOn = bare === undefined ? undefined : BOOLEANS.get(text.toLowerCase());
  if (bare !== undefined && isOn !== undefined) return isOn ? bare : setting.default;
  const choice = choices.find((one) => one.toLowerCase() === text.toLowerCase());
  return choice ?? refuse(given, `one of ${choices.join(", ")}`, didYouMean(text, choices));
}

function isAddress(text: string): boolean {
  const [, host = "", port = ""] = /^(?:grpcs?:\/\/)?(\[.*\]|[^:]*):(.*)$/.exec(text) ?? [];
  return parseHost(host) !== undefined && isPortNumber(port);
}

/** Entries of a list; line breaks separate too, so that a long list can be a block in a YAML file. */
export function splitList(text: string, separator: string): readonly string[] {
  const entries = text.split("\n").flatMap((line) => line.split(separator));
  return entries.map((entry) => entry.trim()).filter((entry) => entry !== "");
}

/** Everybody means powers of two when limiting messages, so `MB` and `MiB` are the same. */
const UNITS: Readonly<Record<string, number>> = { "": 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };

/** gRPC takes the limit as a signed 32-bit number. */
const MAX_BYTES = 2 ** 31 - 1;

function readMemory(given: GivenText): number {
  const bytes = bytesOf(given.text);
  return Number.isSafeInteger(bytes) ? bytes : refuse(given, "a size such as 512MB or 8GiB, or 0");
}

/** Not a number for a text that is not a size. */
function bytesOf(text: string): number {
  const [, digits = "", unit = ""] = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?$/i.exec(text.trim()) ?? [];
  return digits === "" ? Number.NaN : Math.floor(Number(digits) * (UNITS[unit.toLowerCase()] ?? 1));
}

function readBytes(given: GivenText): number {
  const bytes = bytesOf(given.text);
  if (bytes >= 1 && bytes <= MAX_BYTES) return bytes;
  return refuse(given, `a size from 1 to ${MAX_BYTES} bytes, for example 268435456, 256MB or 1GiB`);
}

function refuse({ source, text }: GivenText, expected: string, hint = ""): never {
  throw invalidArgument(`${source} is "${text}"; expected ${expected}.${hint}`);
}

/**
 * A command line's words, the program first, split as a shell does, with single and double quotes and no other magic;
 * undefined for an open quote or no program.
 */
export function splitCommand(commandLine: string): readonly [string, ...string[]] | undefined {
  if (commandLine.replace(/"[^"]*"|'[^']*'/g, "").match(/["']/)) return undefined;
  const words = commandLine.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  const [program, ...rest] = words.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
  return program === undefined || program === "" ? undefined : [program, ...rest];
}
