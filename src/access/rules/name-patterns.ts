/** Names, of which `*` stands for any text. */
export class NamePatterns {
  /** Every name. */
  static readonly EVERY = new NamePatterns(["*"]);

  readonly texts: readonly string[];
  readonly #names: ReadonlySet<string>;
  readonly #patterns: readonly RegExp[];

  constructor(texts: readonly string[]) {
    this.texts = texts;
    this.#names = new Set(texts);
    this.#patterns = texts.filter((text) => text.includes("*")).map(toPattern);
  }

  /** True where any name is meant. */
  get isEvery(): boolean {
    return this.#names.has("*");
  }

  matches(name: string): boolean {
    return this.#names.has(name) || this.#patterns.some((pattern) => pattern.test(name));
  }
}

/** Several stars in a row are one, so that no pattern takes long. */
function toPattern(text: string): RegExp {
  const parts = text.split(/\*+/).map((part) => part.replaceAll(/[\\^$.|?+()[\]{}]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s");
}
