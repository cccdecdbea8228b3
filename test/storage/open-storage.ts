import { onTestFinished } from "vitest";
import { RemoteStorage, type RemoteStorageOptions } from "../../src/storage/remote-storage.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

/** A storage with a cache of its own, and what it logs. */
export function openStorage(options: Partial<RemoteStorageOptions> = {}) {
  const { log, events } = createEventLog();
  const folder = tempFolder();
  const storage = new RemoteStorage({ folder, maxBytes: 0, pollMs: 0, describes: () => false, log, ...options });
  onTestFinished(() => storage.close());
  const fetch = (address: string) => storage.fetch(address, new AbortController().signal);
  return { storage, folder, fetch, events };
}
