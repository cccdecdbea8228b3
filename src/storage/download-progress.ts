import type { Logger } from "../observability/logger.ts";
import { sizeText } from "../text/size-text.ts";
import type { RemoteFile } from "./storage-client.ts";

/** Time between two lines about the same download, in milliseconds. */
const LINE_MS = 10_000;

/** Logs the beginning, the progress and the end of a download. */
export class DownloadProgress {
  readonly #title: string;
  readonly #log: Logger;
  readonly #total: number | undefined;
  readonly #startedAt = performance.now();
  #saidAt = this.#startedAt;
  #done = 0;

  constructor(title: string, files: readonly RemoteFile[], log: Logger) {
    this.#title = title;
    this.#log = log;
    const sizes = files.map(({ bytes }) => bytes);
    this.#total = sizes.includes(undefined) ? undefined : sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
    log.info("download begins", { address: title, files: files.length, ...this.#size() });
  }

  /** Further bytes have come. */
  add(count: number): void {
    this.#done += count;
    const now = performance.now();
    if (now - this.#saidAt < LINE_MS) return;
    this.#saidAt = now;
    const percent = this.#total ? { percent: Math.floor((100 * this.#done) / this.#total) } : {};
    this.#log.info("download goes on", {
      address: this.#title,
      done: sizeText(this.#done),
      ...this.#size(),
      ...percent,
    });
  }

  end(): void {
    const seconds = Number(((performance.now() - this.#startedAt) / 1000).toFixed(1));
    this.#log.info("download ended", { address: this.#title, done: sizeText(this.#done), seconds });
  }

  #size() {
    return this.#total === undefined ? {} : { size: sizeText(this.#total) };
  }
}
