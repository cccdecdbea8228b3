import { createHash } from "node:crypto";
import { once } from "node:events";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { failedPrecondition, reasonText, ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import { Backoff } from "../platform/async/backoff.ts";
import { sizeText } from "../platform/text/size-text.ts";
import { crc32c } from "../tensor/codecs/crc32c.ts";
import { SlowAnswer } from "./http/http-request.ts";
import type { Checksum, RemoteContent, RemoteFile, RemotePlace } from "./storage-client.ts";

/** Attempts in a row that bring no further byte, or hardly any, after which a download fails. */
const MAX_ATTEMPTS = 4;
const BACKOFF = { firstMs: 100, maxMs: 4000 };
/** Codes of errors that pass by themselves. */
const PASSING = ["unavailable", "resource_exhausted"];

/** One file to download. */
interface FileDownload {
  readonly place: RemotePlace;
  readonly file: RemoteFile;
  /** The path of the finished file. */
  readonly target: string;
  /** Its path before it is complete: a place in which no file of the model's lies. */
  readonly part: string;
  /** Maximum size if the server does not tell it, in bytes; 0 = no limit. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** A checksum that the user gave, in place of the server's. */
  readonly sha256?: string | undefined;
  /** Called with the bytes that have come since the last call; negative if they were of no use. */
  readonly onBytes: (count: number) => void;
}

/**
 * Downloads a file, from the place at which an earlier attempt stopped, and compares size and checksum. Tries again if
 * the connection breaks. Throws the place's errors, and `data_loss` for a file that differs from its checksum.
 */
export async function downloadFile(download: FileDownload): Promise<void> {
  const { target, part, signal } = download;
  if ((await sizeOf(target)) !== undefined) return;
  for (const path of [target, part]) await mkdir(dirname(path), { recursive: true });
  const backoff = new Backoff(BACKOFF);
  let before = (await sizeOf(part)) ?? 0;
  download.onBytes(before);
  let isDamaged = false;
  for (let failed = 0; ; ) {
    try {
      const checksum = await receive(download);
      await verify(download, checksum);
      return await rename(part, target);
    } catch (reason) {
      signal.throwIfAborted();
      const { code }: ServingError = ServingError.from(reason);
      // What was there before may have been another file's.
      const isFirstDamage: boolean = code === "data_loss" && !isDamaged && download.sha256 === undefined;
      isDamaged ||= isFirstDamage;
      const now = (await sizeOf(part)) ?? 0;
      const isFurther: boolean = now > before && !(reason instanceof Error && reason.cause instanceof SlowAnswer);
      failed = isFurther ? 1 : failed + 1;
      if (isFurther) backoff.reset();
      before = now;
      if (failed >= MAX_ATTEMPTS || !(isFirstDamage || PASSING.includes(code))) throw reason;
      await delay(backoff.next(), undefined, { signal });
    }
  }
}

/** Appends the missing bytes; returns the checksum that the answer has. */
async function receive(download: FileDownload): Promise<Checksum | undefined> {
  const { place, file, part, maxBytes, signal, onBytes } = download;
  const had = (await sizeOf(part)) ?? 0;
  if (file.bytes !== undefined && had === file.bytes && had > 0) return file.checksum;
  const content = await place.open(file, had, signal);
  if (content.offset !== had && content.offset !== 0) throw wrongLength(file, content.offset, had);
  const comes = content.bytes === undefined ? undefined : content.offset + content.bytes;
  if (file.bytes !== undefined && comes !== undefined && comes !== file.bytes) {
    content.stream.destroy();
    throw wrongLength(file, comes, file.bytes);
  }
  if (content.offset === 0) onBytes(-had);
  const wanted = file.bytes ?? comes;
  const most = wanted ?? (maxBytes || Number.POSITIVE_INFINITY);
  const size = await append(content, { part, signal, onBytes, most });
  if (size > most) {
    onBytes(-size);
    await rm(part, { force: true });
    throw wanted === undefined ? tooLarge(file, most) : wrongLength(file, size, wanted);
  }
  if (wanted !== undefined && size !== wanted) throw wrongLength(file, size, wanted);
  return content.checksum ?? file.checksum;
}

interface AppendOptions {
  readonly part: string;
  readonly signal: AbortSignal;
  readonly onBytes: (count: number) => void;
  /** The size from which on nothing more is written. */
  readonly most: number;
}

/** Keeps what has come, even if the rest does not. Returns the size, or that of the first piece that is too much. */
async function append({ stream, offset }: RemoteContent, options: AppendOptions): Promise<number> {
  const { part, signal, onBytes, most } = options;
  const file = createWriteStream(part, { flags: offset === 0 ? "w" : "r+", start: offset });
  // Its errors are looked for at each step: one may come while the next bytes are waited for.
  file.on("error", () => {});
  const opened = once(file, "open");
  let size = offset;
  try {
    await opened;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      signal.throwIfAborted();
      if (file.errored) throw file.errored;
      size += chunk.length;
      onBytes(chunk.length);
      if (size > most) break;
      if (!file.write(chunk)) await once(file, "drain");
    }
  } catch (cause) {
    if (isDiskError(cause)) throw cause;
    throw new ServingError("unavailable", `the download broke off after ${size} bytes: ${reasonText(cause)}`, {
      cause,
    });
  } finally {
    stream.destroy();
    file.end();
    if (!file.closed) await once(file, "close").catch(() => {});
  }
  if (file.errored) throw file.errored;
  return size;
}

/** A system call's name tells a disk's error from a connection's. */
function isDiskError(reason: unknown): boolean {
  return ["open", "write", "close", "ftruncate"].includes((reason as NodeJS.ErrnoException).syscall ?? "");
}

async function verify({ file, part, sha256, onBytes }: FileDownload, own: Checksum | undefined): Promise<void> {
  const checksum: Checksum | undefined = sha256 === undefined ? own : { algorithm: "sha256", value: sha256 };
  const size = (await sizeOf(part)) ?? 0;
  if (checksum === undefined || (await verifyFile(part, size, checksum))) return;
  onBytes(-size);
  await rm(part, { force: true });
  const { algorithm } = checksum;
  const advice = sha256 === undefined ? "It is downloaded again" : "Check the file, and the checksum in the address";
  throw new ServingError("data_loss", `${file.key} differs from its checksum (${algorithm}). ${advice}`);
}

function wrongLength({ key }: RemoteFile, size: number, wanted: number): ServingError {
  return new ServingError("unavailable", `${key} came with ${size} bytes; expected ${wanted}`);
}

function tooLarge({ key }: RemoteFile, most: number): ServingError {
  return failedPrecondition(`${key} has more than ${sizeText(most)}. Raise --model-cache-size`);
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch {
    return undefined;
  }
}

/** Compares a file of this size with a checksum, as it is on the disk. */
async function verifyFile(path: string, bytes: number, { algorithm, value }: Checksum): Promise<boolean> {
  const found = await digestFile(path, bytes, algorithm);
  return algorithm === "crc32c" ? found === value : found === value.toLowerCase();
}

async function digestFile(path: string, bytes: number, algorithm: Checksum["algorithm"]): Promise<string> {
  const chunks = createReadStream(path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>;
  if (algorithm === "crc32c") {
    let crc = 0;
    for await (const chunk of chunks) crc = crc32c(chunk, crc);
    const digest = Buffer.alloc(4);
    digest.writeUInt32BE(crc);
    return digest.toString("base64");
  }
  const hash = createHash(algorithm === "git" ? "sha1" : algorithm);
  if (algorithm === "git") hash.update(`blob ${bytes}\0`);
  for await (const chunk of chunks) hash.update(chunk);
  return hash.digest("hex");
}

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
