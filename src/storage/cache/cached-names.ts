/** Maximum number of paths that are known: those of the latest downloads. */
const MAX_PATHS = 1000;

/** The addresses of files in the cache: messages are about these, as people do not know the cache. */
export class CachedNames {
  readonly #titles = new Map<string, string>();

  add(path: string, title: string): void {
    this.#titles.delete(path);
    this.#titles.set(path, title);
    const [oldest] = this.#titles.keys();
    if (this.#titles.size > MAX_PATHS && oldest !== undefined) this.#titles.delete(oldest);
  }

  /** A text with addresses in place of paths. */
  toShown(text: string): string {
    const known = [...this.#titles].filter(([path]) => text.includes(path));
    return known.reduce((shown, [path, title]) => shown.replaceAll(path, title), text);
  }
}
