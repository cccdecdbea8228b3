/** Times that a search may go through a text and its whole program, all matches together. */
const MAX_PASSES = 8;
/** Steps that any search may take: small texts are never refused. */
const FREE_STEPS = 1_000_000;
/** Parts of a text at most that wait to be joined: a list of all of them would need more memory than a thread has. */
const MAX_PARTS = 10_000;
const ADVICE = "send shorter texts, or install the native engine: kserving runtimes install tensorflow";

/** A step of a program: takes a character, or holds at a place, or goes on at others, the first of them first. */
export type Step =
  | { readonly kind: "take"; readonly takes: (code: number) => boolean }
  | { readonly kind: "check"; readonly holds: (text: string, at: number) => boolean }
  | { readonly kind: "save"; readonly slot: number }
  | { readonly kind: "go"; to: readonly number[] }
  | { readonly kind: "match" };

/** A match's place in its text, and the texts of its groups, the whole one first. */
interface Match {
  readonly start: number;
  readonly end: number;
  readonly groups: readonly (string | undefined)[];
}

/** Searches of one pattern, in any text. */
interface Search {
  isWhole(text: string): boolean;
  /** Begins with a text; gives the first match from a place on. */
  open(text: string): (from: number) => Match | undefined;
}

/** A pattern that texts of clients are searched for. */
export class TextPattern {
  readonly #search: Search;

  constructor(search: Search) {
    this.#search = search;
  }

  /** Checks if the pattern matches all of a text. */
  isWhole(text: string): boolean {
    return this.#search.isWhole(text);
  }

  /** The text with its first match replaced, or each; the replacement is made of the match and its groups. */
  replace(text: string, toReplacement: (groups: Match["groups"]) => string, isGlobal: boolean): string {
    const find = this.#search.open(text);
    let [replaced, at] = ["", 0];
    let parts: string[] = [];
    for (let match = find(0); match !== undefined; ) {
      const { start, end, groups } = match;
      parts.push(text.slice(at, start), toReplacement(groups));
      if (parts.length > MAX_PARTS) [replaced, parts] = [replaced + parts.join(""), []];
      at = end;
      const from = end === start ? end + widthAt(text, end) : end;
      match = isGlobal && from <= text.length ? find(from) : undefined;
    }
    return `${replaced}${parts.join("")}${text.slice(at)}`;
  }
}

/**
 * Searches by V8's engine, which tries one way after the other: for a pattern that has one way at each place. Throws
 * for a run of many millions of characters, of which V8 holds each place.
 */
export class NativeSearch implements Search {
  readonly #first: RegExp;
  readonly #whole: RegExp;

  constructor(source: string) {
    this.#first = new RegExp(source, "gu");
    this.#whole = new RegExp(`^(?:${source})$`, "u");
  }

  isWhole(text: string): boolean {
    return run(this.#whole, text) !== null;
  }

  open(text: string): (from: number) => Match | undefined {
    return (from) => {
      this.#first.lastIndex = from;
      const groups = run(this.#first, text);
      return groups === null ? undefined : { start: groups.index, end: groups.index + groups[0].length, groups };
    };
  }
}

function run(pattern: RegExp, text: string): RegExpExecArray | null {
  try {
    return pattern.exec(text);
  } catch {
    throw new Error(`the pattern takes too many of a text's ${text.length} characters at once; ${ADVICE}`);
  }
}

/**
 * Searches that follow all ways through a program at once: one match takes a time in proportion to the text. Each of
 * many matches may look at the text up to its end, so all matches of a text have a bound together.
 */
export class LinearSearch implements Search {
  readonly #program: readonly Step[];

  constructor(program: readonly Step[]) {
    this.#program = program;
  }

  isWhole(text: string): boolean {
    return new LinearRun(this.#program, text).find(0, true) !== undefined;
  }

  open(text: string): (from: number) => Match | undefined {
    const run = new LinearRun(this.#program, text);
    return (from) => {
      const saved = run.find(from, false);
      if (saved === undefined) return undefined;
      const [start = 0, end = 0] = saved;
      const groups = Array.from({ length: Math.ceil(saved.length / 2) }, (_, group) =>
        text.slice(saved[2 * group] ?? 0, saved[2 * group + 1] ?? 0),
      );
      return { start, end, groups };
    };
  }
}

/** A way through the program that has come to a step: beginnings and ends of groups so far. */
interface Way {
  readonly step: number;
  readonly saved: readonly number[];
}

/** The search of a program in one text. Throws where its matches together take too many steps. */
class LinearRun {
  readonly #program: readonly Step[];
  readonly #text: string;
  /** The place at which a step was last come to, of places that are counted through all matches. */
  readonly #seenAt: Float64Array;
  readonly #open: Way[] = [];
  #place = 0;
  #left: number;

  constructor(program: readonly Step[], text: string) {
    this.#program = program;
    this.#text = text;
    this.#seenAt = new Float64Array(program.length);
    this.#left = FREE_STEPS + MAX_PASSES * program.length * text.length;
  }

  /** The first match from there on, as RE2 prefers it, by the beginnings and ends of its groups. */
  find(from: number, isWhole: boolean): readonly number[] | undefined {
    const { length } = this.#text;
    let found: readonly number[] | undefined;
    let ways: Way[] = [];
    this.#place++;
    for (let at = from; at <= length; ) {
      if (found === undefined && (!isWhole || at === from)) this.#follow(ways, { step: 0, saved: [] }, at);
      if (ways.length === 0 && (isWhole || found !== undefined)) break;
      const after = at + widthAt(this.#text, at);
      const code = at === length ? undefined : this.#text.codePointAt(at);
      const next: Way[] = [];
      this.#place++;
      for (const { step, saved } of ways) {
        const each = this.#program[step] as Step;
        if (each.kind === "match") {
          if (isWhole && at < length) continue;
          found = saved;
          break;
        }
        if (each.kind === "take" && code !== undefined && each.takes(code))
          this.#follow(next, { step: step + 1, saved }, after);
      }
      ways = next;
      at = after;
    }
    return found;
  }

  /** Adds the steps that a way comes to without a character; a step that another has come to before is its. */
  #follow(ways: Way[], first: Way, at: number): void {
    const open = this.#open;
    open.push(first);
    for (let way = open.pop(); way !== undefined; way = open.pop()) {
      const { step, saved } = way;
      this.#count();
      if (this.#seenAt[step] === this.#place) continue;
      this.#seenAt[step] = this.#place;
      const each = this.#program[step] as Step;
      if (each.kind === "go")
        for (let which = each.to.length - 1; which >= 0; which--) open.push({ step: each.to[which] as number, saved });
      else if (each.kind === "check") {
        if (each.holds(this.#text, at)) open.push({ step: step + 1, saved });
      } else if (each.kind === "save") {
        const more = saved.slice();
        more[each.slot] = at;
        open.push({ step: step + 1, saved: more });
      } else ways.push(way);
    }
  }

  #count(): void {
    if (--this.#left >= 0) return;
    throw new Error(
      `the pattern's matches in a text of ${this.#text.length} characters look at it more than ${MAX_PASSES} times; ${ADVICE}`,
    );
  }
}

/** Units of UTF-16 of the character there; 1 at the end. */
function widthAt(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}
