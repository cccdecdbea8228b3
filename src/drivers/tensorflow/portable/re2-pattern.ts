/** Steps of a program at most: repetitions that are counted are written out. */
const MAX_STEPS = 10_000;

/** Letters that stand for classes, in RE2's meaning: of ASCII alone. */
const CLASSES: Readonly<Record<string, string>> = { d: "0-9", w: "0-9A-Za-z_", s: "\\t\\n\\f\\r " };
/** Letters that stand for one character. */
const CONTROLS: Readonly<Record<string, string>> = { n: "\\n", t: "\\t", r: "\\r", f: "\\f", v: "\\v" };

/** A step of a program: takes a character, or holds at a place, or goes on at others, the first of them first. */
type Step =
  | { readonly kind: "take"; readonly takes: RegExp }
  | { readonly kind: "check"; readonly holds: (characters: readonly string[], at: number) => boolean }
  | { readonly kind: "save"; readonly slot: number }
  | { readonly kind: "go"; to: readonly number[] }
  | { readonly kind: "match" };

/** Writes the steps of a part of a pattern, after which the program goes on behind them. */
type Part = (program: Step[]) => void;

/** A way through the program that has come to a step: beginnings and ends of groups so far. */
interface Way {
  readonly step: number;
  readonly saved: readonly number[];
}

/** A pattern whose search takes a time in proportion to the text: all ways through it are followed at once. */
export class LinearPattern {
  readonly #program: readonly Step[];

  constructor(program: readonly Step[]) {
    this.#program = program;
  }

  /** Checks if the pattern matches all of a text. */
  isWhole(text: string): boolean {
    return this.#find([...text], 0, true) !== undefined;
  }

  /** The text with its first match replaced, or each; the replacement is made of the match and its groups. */
  replace(text: string, toReplacement: (groups: readonly string[]) => string, isGlobal: boolean): string {
    const characters = [...text];
    const parts: string[] = [];
    let at = 0;
    for (let from = 0; from <= characters.length; ) {
      const found = this.#find(characters, from, false);
      if (found === undefined) break;
      const [start = 0, end = 0] = found;
      const count = Math.ceil(found.length / 2);
      const groups = Array.from({ length: count }, (_, group) =>
        characters.slice(found[2 * group] ?? 0, found[2 * group + 1] ?? 0).join(""),
      );
      parts.push(characters.slice(at, start).join(""), toReplacement(groups));
      at = end;
      if (!isGlobal) break;
      from = end === start ? end + 1 : end;
    }
    return `${parts.join("")}${characters.slice(at).join("")}`;
  }

  /** The first match from there on, as RE2 prefers it, by the beginnings and ends of its groups. */
  #find(characters: readonly string[], from: number, isWhole: boolean): readonly number[] | undefined {
    let found: readonly number[] | undefined;
    const seenAt = new Int32Array(this.#program.length).fill(-1);
    let ways: Way[] = [];
    for (let at = from; at <= characters.length; at++) {
      if (found === undefined && (!isWhole || at === from))
        this.#follow(ways, { step: 0, saved: [] }, characters, at, seenAt);
      if (ways.length === 0 && (isWhole || found !== undefined)) break;
      const next: Way[] = [];
      for (const { step, saved } of ways) {
        const each = this.#program[step] as Step;
        if (each.kind === "match") {
          if (isWhole && at < characters.length) continue;
          found = saved;
          break;
        }
        const character = characters[at];
        if (each.kind === "take" && character !== undefined && each.takes.test(character))
          this.#follow(next, { step: step + 1, saved }, characters, at + 1, seenAt);
      }
      ways = next;
    }
    return found;
  }

  /** Adds the steps that a way comes to without a character; a step that another has come to before is its. */
  #follow(ways: Way[], first: Way, characters: readonly string[], at: number, seenAt: Int32Array): void {
    const open = [first];
    for (let way = open.pop(); way !== undefined; way = open.pop()) {
      const { step, saved } = way;
      if (seenAt[step] === at) continue;
      seenAt[step] = at;
      const each = this.#program[step] as Step;
      if (each.kind === "go") for (const to of each.to.toReversed()) open.push({ step: to, saved });
      else if (each.kind === "check") {
        if (each.holds(characters, at)) open.push({ step: step + 1, saved });
      } else if (each.kind === "save") {
        const more = [...saved];
        more[each.slot] = at;
        open.push({ step: step + 1, saved: more });
      } else ways.push(way);
    }
  }
}

/**
 * The pattern that means what it means to RE2, as TensorFlow uses it; undefined for one with anything but literals,
 * classes, groups, alternatives, repetitions and anchors, or one that is too large.
 */
export function toPattern(text: string): LinearPattern | undefined {
  const tokens: Token[] = [];
  for (let rest = text; rest !== ""; ) {
    const [token, translated] = readToken(rest) ?? [];
    if (token === undefined || translated === undefined) return undefined;
    tokens.push([token, translated]);
    rest = rest.slice(token.length);
  }
  try {
    // It throws for text that is no pattern.
    new RegExp(tokens.map(([, translated]) => translated).join(""), "u");
    const program: Step[] = [];
    group(new Tokens(tokens).alternatives(), 0)(program);
    write(program, { kind: "match" });
    return new LinearPattern(program);
  } catch {
    return undefined;
  }
}

type Token = readonly [token: string, translated: string];

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
    const step: Step = CHECKS[token] ?? { kind: "take", takes: new RegExp(`^${translated}$`, "u") };
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
  "\\b": { kind: "check", holds: (characters, at) => isWord(characters[at - 1]) !== isWord(characters[at]) },
};

function repeat(part: Part, [least, most]: readonly [number, number | undefined], isLazy: boolean): Part {
  const order = (one: number, other: number) => (isLazy ? [other, one] : [one, other]);
  return (program) => {
    for (let count = 0; count < least; count++) part(program);
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
