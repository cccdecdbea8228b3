import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { failedPrecondition, ServingError } from "../errors.ts";
import { TurnsByName } from "../platform/async/promises.ts";
import { createScratchFolder, type ScratchFile } from "../platform/user-module/scratch-file.ts";
import { readBytes } from "./http/answers.ts";
import { localName } from "./local-name.ts";
import type { FoundFiles } from "./objects/find-files.ts";
import type { RemoteFile, StorageAddress } from "./storage-client.ts";

/**
 * Time after which a changed list has to be the same, so that nothing is loaded while
 * it is being uploaded, in milliseconds.
 */
const SETTLE_MS = 3000;

/** Settings of lists. */
interface ListingOptions {
  /** Time between two requests for the same list, in milliseconds; 0 = one request, until {@link Listings.expire}. */
  readonly pollMs: number;
  readonly list: (address: string) => Promise<FoundFiles>;
}

interface State {
  found?: FoundFiles;
  fingerprint?: string;
  error?: unknown;
  /** Time of the last answer, on the clock of performance.now(). */
  atMs: number;
  isExpired: boolean;
  /** A list that differs from the one in use, and is waited for to stay the same. */
  changed?: string | undefined;
  asking: Promise<void> | undefined;
  /** True while a call waits for the answer; others do so too. */
  isWaitedFor: boolean;
}

/**
 * The files at addresses, as of the last request. Only the first call for an address
 * waits for the server; later ones have it asked again in the background when the time
 * has come, so that a slow server does not delay what does not need it.
 */
export class Listings {
  readonly #options: ListingOptions;
  readonly #states = new Map<string, State>();

  constructor(options: ListingOptions) {
    this.#options = options;
  }

  /** The files at an address; throws the reason why the last request for them failed. */
  async get(address: string): Promise<FoundFiles> {
    const state = this.#states.get(address) ?? this.#open(address);
    const isFirst = state.found === undefined && state.error === undefined;
    if (isFirst || state.isExpired) await this.#ask(address, state, true);
    else if (state.isWaitedFor) await state.asking;
    else if (this.#isDue(state)) void this.#ask(address, state, false);
    if (state.error !== undefined) throw state.error;
    return state.found as FoundFiles;
  }

  /** The addresses of which something is known. */
  get addresses(): readonly string[] {
    return [...this.#states.keys()];
  }

  /** Has the next call ask the servers again, and take what they say at once. */
  expire(address?: string): void {
    for (const [own, state] of this.#states)
      if (address === undefined || address === own || address.startsWith(`${own}/`)) state.isExpired = true;
  }

  #open(address: string): State {
    const state: State = { atMs: 0, isExpired: false, asking: undefined, isWaitedFor: false };
    this.#states.set(address, state);
    return state;
  }

  #isDue({ atMs, changed, error }: State): boolean {
    const { pollMs } = this.#options;
    const isSoon = changed !== undefined || error !== undefined;
    const waitMs = isSoon ? Math.min(SETTLE_MS, pollMs) : pollMs;
    return pollMs > 0 && performance.now() - atMs >= waitMs;
  }

  #ask(address: string, state: State, isAtOnce: boolean): Promise<void> {
    if (state.asking !== undefined && isAtOnce && state.isExpired) {
      // An answer on its way may be older than the call.
      return state.asking.then(() => this.#ask(address, state, true));
    }
    state.isExpired = false;
    state.isWaitedFor ||= isAtOnce;
    state.asking ??= this.#list(address, state, isAtOnce).finally(() => {
      state.asking = undefined;
      state.isWaitedFor = false;
    });
    return state.asking;
  }

  async #list(address: string, state: State, isAtOnce: boolean): Promise<void> {
    try {
      const found = await this.#options.list(address);
      const fingerprint = fingerprintFiles(found.files);
      const isSettled = isAtOnce || state.found === undefined || fingerprint === state.changed;
      const isNew = fingerprint !== state.fingerprint;
      delete state.error;
      state.changed = isNew && !isSettled ? fingerprint : undefined;
      if (isNew && isSettled) Object.assign(state, { found, fingerprint });
    } catch (reason) {
      state.error = reason;
    }
    state.atMs = performance.now();
  }
}

/** Time that a list, or a description of models, may take as a whole, in milliseconds. */
const MAX_MS = 60_000;

/**
 * Runs a step whose signal aborts with the given one, and when its time is over: `unavailable`. A server that sends a
 * byte now and then never counts as one that stalls.
 */
export async function withinTime<Result>(
  what: string,
  signal: AbortSignal,
  step: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  const limit = new AbortController();
  const late = new ServingError("unavailable", `${what} did not come within ${MAX_MS / 1000} s. Check the network`);
  const timer = setTimeout(() => limit.abort(late), MAX_MS);
  const stop = () => limit.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await step(limit.signal);
  } catch (reason) {
    throw limit.signal.reason === late ? late : reason;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}

/** Text that changes when a file is added or removed, or its content changes. */
export function fingerprintFiles(files: readonly RemoteFile[]): string {
  const hash = createHash("sha256");
  for (const { key, bytes, etag } of files) hash.update(`${key}\0${bytes ?? ""}\0${etag}\0`);
  return hash.digest("base64url");
}

/** Maximum size of a file of which an index has the content, in bytes. */
const MAX_BYTES = 1024 * 1024;
/** The same for all of one index. */
const MAX_TOTAL_BYTES = 64 * 1024 * 1024;
/** Time after which an index that nothing has looked at is removed, in milliseconds; it can be made again. */
const UNUSED_MS = 60 * 60 * 1000;

interface Index {
  readonly fingerprint: string;
  readonly folder: ScratchFile;
  /** The folder before it, which another model's check may be looking at. */
  readonly former: ScratchFile | undefined;
  /** Its last use, on the clock of performance.now(). */
  usedAt: number;
}

/** The source of an index. */
export interface IndexSource {
  readonly address: StorageAddress;
  readonly found: FoundFiles;
  readonly signal: AbortSignal;
}

/**
 * Local folders with the names of remote files: what looks for versions and models in a folder looks there, before
 * anything is downloaded. The files are empty, but for those whose names say that they describe models.
 */
export class IndexFolders {
  readonly #describes: (name: string) => boolean;
  /** By address, least recently used first. */
  readonly #indexes = new Map<string, Index>();
  readonly #turns = new TurnsByName();

  constructor(describes: (name: string) => boolean) {
    this.#describes = describes;
  }

  /** The path in the index that stands for an address; made again if the files have changed. */
  async pathOf(source: IndexSource): Promise<string> {
    const { address, found } = source;
    const { folder } = await this.#turns.run(address.title, () => this.#update(source));
    const path = join(folder.path, "index");
    return found.isFolder ? path : join(path, localName(basename(address.key)));
  }

  close(): void {
    this.#removeUnused(Number.POSITIVE_INFINITY);
  }

  /** Removes those that were last used before a time. */
  #removeUnused(before: number): void {
    for (const [title, { folder, former, usedAt }] of this.#indexes) {
      if (usedAt >= before) return;
      for (const each of [folder, former]) each?.remove();
      this.#indexes.delete(title);
    }
  }

  async #update(source: IndexSource): Promise<Index> {
    const { title } = source.address;
    const fingerprint = fingerprintFiles(source.found.files);
    const before = this.#indexes.get(title);
    const isSame = before?.fingerprint === fingerprint;
    const usedAt = performance.now();
    const index = isSame
      ? { ...before, usedAt }
      : { fingerprint, folder: await this.#create(source), former: before?.folder, usedAt };
    if (!isSame) before?.former?.remove();
    this.#indexes.delete(title);
    this.#indexes.set(title, index);
    this.#removeUnused(usedAt - UNUSED_MS);
    return index;
  }

  async #create({ address, found, signal }: IndexSource): Promise<ScratchFile> {
    const folder = createScratchFolder();
    try {
      const root = found.isFolder ? address.key : dirname(address.key).replace(/^\.$/, "");
      await mkdir(join(folder.path, "index"));
      let total = 0;
      for (const file of found.files) {
        const name = localName(file.key.slice(root === "" ? 0 : root.length + 1));
        const path = join(folder.path, "index", name);
        await mkdir(dirname(path), { recursive: true });
        if (this.#describes(name) && (file.bytes ?? 0) <= MAX_BYTES) {
          total += await copy(file, { path, address, signal });
          if (total > MAX_TOTAL_BYTES) throw failedPrecondition("its descriptions of models have more than 64 MB");
        } else await writeFile(path, "");
      }
      return folder;
    } catch (reason) {
      folder.remove();
      throw reason;
    }
  }
}

interface CopyOptions {
  readonly path: string;
  readonly address: StorageAddress;
  readonly signal: AbortSignal;
}

/** Returns the size. */
function copy(file: RemoteFile, { path, address, signal }: CopyOptions): Promise<number> {
  return withinTime(basename(file.key), signal, async (limited) => {
    const { stream } = await address.open().open(file, 0, limited);
    const bytes = await readBytes(stream, file.bytes ?? MAX_BYTES);
    await writeFile(path, bytes);
    return bytes.length;
  });
}
