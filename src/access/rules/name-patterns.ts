/** Names, of which `*` stands for any text. */
export class NamePatterns {
  /** Every name. */
  static readonly EVERY = new NamePatterns(["*"]);

  readonly texts: readonly string[];
  readonly #names: ReadonlySet<string>;
  readonly #patterns: readonly Pattern[];

  constructor(texts: readonly string[]) {
    this.texts = texts;
    this.#names = new Set(texts);
    this.#patterns = texts.filter((text) => text.includes("*")).map(toPattern);
  }

  /** True where any name is meant. */
  get isEvery(): boolean {
    return this.#names.has("*");
  }

  /** Takes a time in proportion to the name, however many stars there are. */
  matches(name: string): boolean {
    return this.#names.has(name) || this.#patterns.some((pattern) => fits(name, pattern));
  }
}

/** Parts that a name has to begin with, to have in this order, and to end with. */
interface Pattern {
  readonly start: string;
  readonly middle: readonly string[];
  readonly end: string;
}

function toPattern(text: string): Pattern {
  const parts = text.split("*");
  const [start, end] = [parts.shift() as string, parts.pop() as string];
  return { start, middle: parts.filter((part) => part !== ""), end };
}

/** The first place of each part leaves most for the next: no other place has to be tried. */
function fits(name: string, { start, middle, end }: Pattern): boolean {
  const last = name.length - end.length;
  if (!name.startsWith(start) || !name.endsWith(end)) return false;
  let at = start.length;
  for (const part of middle) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= last;
}
