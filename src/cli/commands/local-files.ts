import { ServingError } from "../../errors.ts";
import { LazyStorage } from "../../server/lazy-storage.ts";
import { withDefaults } from "../../server/server-options.ts";
import { claimPath } from "../../storage/local-name.ts";
import { isRemoteAddress, toPlace } from "../../storage/remote-address.ts";
import { LiveLine } from "../live-line.ts";
import { drawDownloads } from "../status-reporter/draw-downloads.ts";

/** The files of a model on this machine. */
export interface LocalFiles {
  readonly path: string;
  /** A text with the address in place of the path of the cache. */
  shown(text: string): string;
}

/** Runs something on a model's files, which are downloaded into the cache first where the place is an address. */
export async function withLocalFiles(place: string, run: (files: LocalFiles) => Promise<void>): Promise<void> {
  if (!isRemoteAddress(place)) return run({ path: claimPath(place), shown: (text) => text });
  const storage = new LazyStorage(withDefaults({ onDownload: drawDownloads(new LiveLine()) }));
  try {
    const { path, release } = await storage.fetch(toPlace(place), new AbortController().signal);
    const shown = (text: string) => (storage.toAddresses(new ServingError("unknown", text)) as Error).message;
    await run({ path, shown }).finally(release);
  } catch (reason) {
    throw storage.toAddresses(reason);
  } finally {
    storage.close();
  }
}
