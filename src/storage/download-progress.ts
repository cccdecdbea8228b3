import type { Logger } from "../observability/logger.ts";
import { sizeText } from "../platform/text/size-text.ts";
import type { RemoteFile } from "./storage-client.ts";

/** Time between two lines about the same download, in milliseconds. */
const LINE_MS = 10_000;
/** Time between two reports of it, in milliseconds. */
const REPORT_MS = 100;

/** The progress of a download. */
export interface DownloadState {
  /** The address of the model, without secrets. */
  readonly address: string;
  readonly doneBytes: number;
  /** Undefined if the server does not say it. */
  readonly totalBytes: number | undefined;
  /** True if it has ended or failed. */
  readonly isOver: boolean;
}

/** A download that begins. */
interface BegunDownload {
  readonly address: { readonly title: string };
  readonly files: readonly RemoteFile[];
  readonly log: Logger;
  /** Called at its beginning, ten times a second at most while bytes come, and at its end. */
  readonly onDownload?: ((state: DownloadState) => void) | undefined;
}

/** Logs and reports the beginning, the progress and the end of a download. */
export class DownloadProgress {
  readonly #download: BegunDownload;
  readonly #total: number | undefined;
  readonly #startedAt = performance.now();
  #saidAt = this.#startedAt;
  #reportedAt = this.#startedAt;
  #done = 0;

  constructor(download: BegunDownload) {
    const { address, files, log } = download;
    this.#download = download;
    const sizes = files.map(({ bytes }) => bytes);
    this.#total = sizes.includes(undefined) ? undefined : sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
    log.info("download begins", { address: address.title, files: files.length, ...this.#size() });
    this.#report(false);
  }

  /** Bytes that have come. */
  get done(): number {
    return this.#done;
  }

  /** Further bytes have come. */
  add(count: number): void {
    this.#done += count;
    const now = performance.now();
    if (now - this.#reportedAt >= REPORT_MS) {
      this.#reportedAt = now;
      this.#report(false);
    }
    if (now - this.#saidAt < LINE_MS) return;
    this.#saidAt = now;
    const percent = this.#total ? { percent: Math.floor((100 * this.#done) / this.#total) } : {};
    const { address, log } = this.#download;
    log.info("download goes on", {
      address: address.title,
      done: sizeText(this.#done),
      ...this.#size(),
      ...percent,
    });
  }

  /** Everything is there. */
  end(): void {
    const { address, log } = this.#download;
    const seconds = Number(((performance.now() - this.#startedAt) / 1000).toFixed(1));
    log.info("download ended", { address: address.title, done: sizeText(this.#done), seconds });
  }

  /** Nothing more comes, be it for an error. */
  stop(): void {
    this.#report(true);
  }

  #report(isOver: boolean): void {
    const { address, onDownload } = this.#download;
    onDownload?.({ address: address.title, doneBytes: this.#done, totalBytes: this.#total, isOver });
  }

  #size() {
    return this.#total === undefined ? {} : { size: sizeText(this.#total) };
  }
}
