import type { ForeignFlag, ForeignFlags } from "./foreign-flag.ts";

/** The rules of another program's parser of command lines. */
export interface FlagStyle {
  /** A value may be the next word: `--port 9000`. */
  readonly takesNextWord: boolean;
  /** A flag may be cut short if only one begins so. */
  readonly abbreviates?: boolean;
}

/** A command line as another program's parser takes it. */
export interface ReadFlags {
  /** Values by flag; of several the last one counts. */
  readonly values: ReadonlyMap<string, string>;
  /** Words other than flags, in their order. */
  readonly unknown: readonly string[];
  /** Flags that lack their value. */
  readonly incomplete: readonly string[];
  /** Flags with a value that is not of their type. */
  readonly misread: readonly MisreadFlag[];
}

/** A flag, and its value. */
interface MisreadFlag {
  readonly name: string;
  readonly value: string;
}

/** Reads words by a table of flags. Never throws: each program answers to faults in its own way. */
export function readForeignFlags(argv: readonly string[], flags: ForeignFlags, style: FlagStyle): ReadFlags {
  const values = new Map<string, string>();
  const [unknown, incomplete, misread]: [string[], string[], MisreadFlag[]] = [[], [], []];
  for (let index = 0; index < argv.length; index += 1) {
    const word = argv[index] as string;
    if (word === "--" && !style.takesNextWord) {
      unknown.push(...argv.slice(index));
      break;
    }
    const found = findFlag(word, flags, style);
    if (found === undefined) {
      unknown.push(word);
      continue;
    }
    const { name, flag } = found;
    const value = found.value ?? (flag.type === "boolean" ? "true" : argv[index + 1]);
    if (value !== found.value && flag.type !== "boolean") index += 1;
    if (value === undefined) incomplete.push(name);
    else if (isOfType(value, flag)) values.set(name, value);
    else misread.push({ name, value });
  }
  return { values, unknown, incomplete, misread };
}

interface FoundFlag {
  readonly name: string;
  readonly flag: ForeignFlag;
  /** Behind an equals sign; undefined = there is none. */
  readonly value: string | undefined;
}

function findFlag(word: string, flags: ForeignFlags, style: FlagStyle): FoundFlag | undefined {
  const [, given, value] = /^--?([^=]+)(?:=(.*))?$/s.exec(word) ?? [];
  if (given === undefined) return undefined;
  const name = nameOf(word, given, { flags, style });
  if (name === undefined) return attachedBoolean(word, flags, style);
  const flag = flags[name] as ForeignFlag;
  if (value === undefined && !style.takesNextWord && flag.type !== "boolean") return undefined;
  return { name, flag, value };
}

function nameOf(word: string, given: string, { flags, style }: { flags: ForeignFlags; style: FlagStyle }) {
  if (!word.startsWith("--")) return Object.keys(flags).find((name) => flags[name]?.short === given);
  if (Object.hasOwn(flags, given)) return given;
  const longer = style.abbreviates ? Object.keys(flags).filter((name) => name.startsWith(given)) : [];
  return longer.length === 1 ? longer[0] : undefined;
}

/** TensorFlow takes whatever stands behind a boolean flag's name for its value. */
function attachedBoolean(word: string, flags: ForeignFlags, style: FlagStyle): FoundFlag | undefined {
  if (style.takesNextWord) return undefined;
  const names = Object.keys(flags).filter((each) => flags[each]?.type === "boolean");
  const name = names.find((each) => word.startsWith(`--${each}`));
  return name === undefined
    ? undefined
    : { name, flag: flags[name] as ForeignFlag, value: word.slice(name.length + 2) };
}

function isOfType(value: string, { type }: ForeignFlag): boolean {
  switch (type) {
    case "boolean":
      return value === "true" || value === "false";
    case "integer":
      return /^[+-]?\d+$/.test(value);
    case "number":
      return value.trim() !== "" && Number.isFinite(Number(value));
    default:
      return true;
  }
}
