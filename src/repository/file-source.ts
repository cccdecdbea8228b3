import { stat } from "node:fs/promises";
import type { ConfigEntry } from "../codecs/config/config-node.ts";
import { reasonText, ServingError } from "../errors.ts";
import type { ModelStorage } from "../storage/model-storage.ts";
import { isRemoteAddress, shownAddress } from "../storage/remote-address.ts";
import { fileStamp } from "../text/file-stamp.ts";
import { jsonOf } from "./config/json-of.ts";
import { type ConfigFile, readConfigFile } from "./config/read-config-file.ts";
import { requireStorage } from "./folders/require-storage.ts";
import type { ScanState } from "./scan-state.ts";

/** Settings of a {@link FileSource}. */
export interface FileSourceOptions {
  /** Names of the settings that our own files may contain. */
  readonly settingNames: readonly string[];
  /** True = the file is read once. */
  readonly isKept?: boolean | undefined;
  readonly storage?: ModelStorage | undefined;
}

/**
 * A configuration file that is read again when it has changed, unless it is kept. While it is broken or missing, its
 * former content applies.
 */
export class FileSource {
  readonly title: string;
  readonly #path: string;
  readonly #settingNames: readonly string[];
  readonly #isKept: boolean;
  readonly #storage: ModelStorage | undefined;
  #kept: ConfigFile | undefined;
  #stamp = "";
  #problem: string | undefined;
  #failure: unknown;

  constructor(path: string, { settingNames, isKept = false, storage }: FileSourceOptions) {
    this.title = shownAddress(path);
    this.#storage = storage;
    this.#path = path;
    this.#settingNames = settingNames;
    this.#isKept = isKept;
  }

  /** The reason why the file was not read as it is now; undefined = it was. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Throws the file's errors where it has not been read before. */
  async read(scan: ScanState): Promise<ConfigFile> {
    const stamp = this.#isKept ? "" : await this.#stampNow();
    if (this.#kept === undefined || (stamp !== this.#stamp && scan.isSettled(["", this.#path], stamp)))
      await this.#readAgain(stamp);
    const file = this.#kept as ConfigFile;
    for (const warning of file.warnings) scan.log.warn(warning);
    if (this.#problem !== undefined) scan.log.error(this.#problem);
    return file;
  }

  async #stampNow(): Promise<string> {
    if (!isRemoteAddress(this.#path)) return stampOf(this.#path);
    const stamp = requireStorage(this.#storage, this.#path).stampOf(this.#path);
    return stamp.then(({ text }) => text).catch(reasonText);
  }

  async #readAgain(stamp: string): Promise<void> {
    this.#stamp = stamp;
    this.#problem = undefined;
    this.#failure = undefined;
    try {
      const file = await readConfigFile(this.#path, this.#settingNames);
      this.#problem = lateSettings(this.#path, this.#kept?.settings ?? file.settings, file.settings);
      this.#kept = { ...file, settings: this.#kept?.settings ?? file.settings };
    } catch (reason) {
      if (this.#kept === undefined) throw reason;
      // What is wrong in it stays so until it changes; what kept it from being read may be over at the next check.
      if (ServingError.from(reason).code !== "invalid_argument") this.#stamp = "";
      this.#failure = reason;
      this.#problem = `The configuration stays as it was: ${reasonText(reason)}`;
    }
  }
}

/** The code of the error for a file that is not there. */
async function stampOf(path: string): Promise<string> {
  try {
    return fileStamp(await stat(path));
  } catch (reason) {
    return String((reason as NodeJS.ErrnoException).code);
  }
}

/** An error for settings that differ from those with which the server was started. */
function lateSettings(path: string, old: readonly ConfigEntry[], settings: readonly ConfigEntry[]): string | undefined {
  const before = new Map(old.map(({ key, value }) => [key, jsonOf(value)]));
  const after = new Map(settings.map(({ key, value }) => [key, jsonOf(value)]));
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter((key) => before.get(key) !== after.get(key));
  if (changed.length === 0) return undefined;
  return `${path}: ${changed.join(", ")} changed, which counts from the next start on; models and their settings count now.`;
}
