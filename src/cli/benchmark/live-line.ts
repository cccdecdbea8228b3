/** A line of standard error that changes at a terminal, and is nothing elsewhere. */
export class LiveLine {
  readonly #isShown = process.stderr.isTTY === true;

  show(text: () => string): void {
    if (this.#isShown) process.stderr.write(`\r\u001b[K${text().slice(0, (process.stderr.columns ?? 80) - 1)}`);
  }

  clear(): void {
    if (this.#isShown) process.stderr.write("\r\u001b[K");
  }
}
