import { LinearSearch, NativeSearch, type Step, TextPattern } from "./pattern-search.ts";

/** Steps of a program at most: repetitions that are counted are written out. */
const MAX_STEPS = 10_000;
/** The largest count of a repetition, as RE2 has it. */
const MAX_COUNT = 1000;

/** Letters that stand for classes, in RE2's meaning: of ASCII alone. */
const CLASSES: Readonly<Record<string, string>> = { d: "0-9", w: "0-9A-Za-z_", s: "\\t\\n\\f\\r " };
/** Letters that stand for one character. */
const CONTROLS: Readonly<Record<string, string>> = { n: "\\n", t: "\\t", r: "\\r", f: "\\f", v: "\\v" };

/** Writes the steps of a part of a pattern, after which the program goes on behind them. */
type Part = (program: Step[]) => void;

/**
 * The pattern that means what it means to RE2, as TensorFlow uses it; undefined for one with anything but literals,
 * classes, groups, alternatives, repetitions and anchors, or one that is too large.
 */
export function toPattern(text: string): TextPattern | undefined {
  const tokens: Token[] = [];
  for (let rest = text; rest !== ""; ) {
    const [token, translated] = readToken(rest) ?? [];
    if (token === undefined || translated === undefined) return undefined;
    tokens.push([token, translated]);
    rest = rest.slice(token.length);
  }
  try {
    // It throws for text that is no pattern.
    const native = new NativeSearch(tokens.map(([, translated]) => translated).join(""));
    if (hasOneWay(tokens)) return new TextPattern(native);
    const program: Step[] = [];
    group(new Tokens(tokens).alternatives(), 0)(program);
    write(program, { kind: "match" });
    return new TextPattern(new LinearSearch(program));
  } catch {
    return undefined;
  }
}

type Token = readonly [token: string, translated: string];

/**
 * Checks if V8's engine takes a time in proportion to any text. Alternatives outside of groups, each a sequence without
 * repetitions, fail after as many characters as they have. One character that is repeated at an alternative's very end
 * never fails after more than one: what it has taken is matched, and is not looked at again.
 */
function hasOneWay(tokens: readonly Token[]): boolean {
  let depth = 0;
  return tokens.every(([token], at) => {
    if (token.startsWith("(")) depth++;
    else if (token === ")") depth--;
    else if (token === "|") return depth === 0;
    if (!REPETITION.test(token)) return true;
    const [before = "", after = "|"] = [tokens[at - 1]?.[0], tokens[at + 1]?.[0]];
    return /^[*+]/.test(token) && depth === 0 && before !== ")" && CHECKS[before] === undefined && after === "|";
  });
}

/** Reads the tokens of a pattern that JavaScript takes. */
class Tokens {
  readonly #tokens: readonly Token[];
  #at = 0;
  #groups = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  alternatives(): Part {
    const first = this.#sequence();
    if (this.#next() !== "|") return first;
    this.#at++;
    const others = this.alternatives();
    return (program) => {
      const way = write(program, { kind: "go", to: [] as readonly number[] });
      const from = program.length;
      first(program);
      const end = write(program, { kind: "go", to: [] as readonly number[] });
      way.to = [from, program.length];
      others(program);
      end.to = [program.length];
    };
  }

  #next(): string | undefined {
    return this.#tokens[this.#at]?.[0];
  }

  #sequence(): Part {
    const parts: Part[] = [];
    for (let next = this.#next(); next !== undefined && next !== "|" && next !== ")"; next = this.#next())
      parts.push(this.#repeated(this.#one()));
    return (program) => {
      for (const part of parts) part(program);
    };
  }

  #one(): Part {
    const [token, translated] = this.#tokens[this.#at++] as Token;
    if (token === "(" || token === "(?:") {
      const number = token === "(" ? ++this.#groups : undefined;
      const inner = this.alternatives();
      this.#at++;
      return number === undefined ? inner : group(inner, number);
    }
    const step: Step = CHECKS[token] ?? { kind: "take", takes: toTest(translated) };
    return (program) => write(program, step);
  }

  #repeated(part: Part): Part {
    const [, sign, least = "", comma, most = ""] = REPETITION.exec(this.#next() ?? "") ?? [];
    if (sign === undefined) return part;
    const isLazy = (this.#tokens[this.#at++] as Token)[0].length > sign.length;
    const counted = [
      Number(least),
      comma === undefined ? Number(least) : most === "" ? undefined : Number(most),
    ] as const;
    if (Math.max(...counted.map((count) => count ?? 0)) > MAX_COUNT) throw new RangeError("The count is too large.");
    return repeat(part, SIGNS[sign] ?? counted, isLazy);
  }
}

const REPETITION = /^([*+?]|\{(\d+)(,(\d*))?\})/;
const SIGNS: Readonly<Record<string, readonly [least: number, most: number | undefined]>> = {
  "*": [0, undefined],
  "+": [1, undefined],
  "?": [0, 1],
};

const isWord = (character = "") => /^\w/.test(character);
const CHECKS: Readonly<Record<string, Step>> = {
  "^": { kind: "check", holds: (_, at) => at === 0 },
  $: { kind: "check", holds: ({ length }, at) => at === length },
  "\\b": { kind: "check", holds: (text, at) => isWord(text[at - 1]) !== isWord(text[at]) },
};

/** Checks a character, those of ASCII by a table. */
function toTest(translated: string): (code: number) => boolean {
  const takes = new RegExp(`^${translated}$`, "u");
  const ofAscii = Array.from({ length: 128 }, (_, code) => takes.test(String.fromCodePoint(code)));
  return (code) => ofAscii[code] ?? takes.test(String.fromCodePoint(code));
}

function repeat(part: Part, [least, most]: readonly [number, number | undefined], isLazy: boolean): Part {
  const order = (one: number, other: number) => (isLazy ? [other, one] : [one, other]);
  return (program) => {
    for (let count = 0; count < least; count++) {
      const { length } = program;
      part(program);
      // Copies of nothing, within each other, take long and never become too many steps.
      if (program.length === length) break;
    }
    const ways: { readonly way: { to: readonly number[] }; readonly from: number }[] = [];
    for (let count = least; count < (most ?? least + 1); count++) {
      ways.push({ way: write(program, { kind: "go", to: [] as readonly number[] }), from: program.length });
      part(program);
    }
    const [first] = ways;
    if (most === undefined && first !== undefined) write(program, { kind: "go", to: [first.from - 1] });
    for (const { way, from } of ways) way.to = order(from, program.length);
  };
}

function group(part: Part, number: number): Part {
  return (program) => {
    write(program, { kind: "save", slot: 2 * number });
    part(program);
    write(program, { kind: "save", slot: 2 * number + 1 });
  };
}

function write<Written extends Step>(program: Step[], step: Written): Written {
  if (program.length >= MAX_STEPS) throw new RangeError("The pattern is too large.");
  program.push(step);
  return step;
}

/** The first token of a pattern and what it is in JavaScript. */
function readToken(text: string): readonly [token: string, translated: string | undefined] | undefined {
  const set = /^\[(\^?)((?:\\[\s\S]|[^\\\]])+)\]/.exec(text);
  if (set !== null) return [set[0], readSet(set[1]!, set[2]!)];
  const plain = /^(?:\((?:\?:)?|[)|^$]|(?:[*+?]|\{\d+(?:,\d*)?\})\??)/.exec(text)?.[0];
  if (plain !== undefined) return plain === "(" && text.startsWith("(?") ? undefined : [plain, plain];
  if (text.startsWith(".")) return [".", "[^\\n]"];
  const escaped = /^\\([\s\S])/u.exec(text);
  if (escaped !== null) return [escaped[0], readEscape(escaped[1]!)];
  const letter = /^[^\\[\]{}]/u.exec(text)?.[0];
  return letter === undefined ? undefined : [letter, toLiteral(letter)];
}

function readEscape(letter: string): string | undefined {
  const positive = CLASSES[letter];
  if (positive !== undefined) return `[${positive}]`;
  const negative = CLASSES[letter.toLowerCase()];
  if (negative !== undefined) return `[^${negative}]`;
  if (letter === "b") return "\\b";
  return CONTROLS[letter] ?? (/[!-/:-@[-`{-~]/.test(letter) ? toLiteral(letter) : undefined);
}

/** Within brackets; undefined for anything but one plain set, such as `[[:alpha:]]`. */
function readSet(negation: string, content: string): string | undefined {
  const parts: string[] = [];
  for (const [item] of content.matchAll(/\\[\s\S]|[\s\S]/gu)) {
    const letter = item.length > 1 && item.startsWith("\\") ? item.slice(1) : undefined;
    if (letter === undefined) parts.push(item === "-" ? "-" : toLiteral(item));
    else {
      const translated =
        CLASSES[letter] ?? CONTROLS[letter] ?? (/[!-/:-@[-`{-~]/.test(letter) ? toLiteral(letter) : undefined);
      if (translated === undefined) return undefined;
      parts.push(translated);
    }
  }
  return content.includes("[:") ? undefined : `[${negation}${parts.join("")}]`;
}

function toLiteral(letter: string): string {
  return `\\u{${(letter.codePointAt(0) as number).toString(16)}}`;
}
