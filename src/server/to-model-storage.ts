import { isDescription } from "../repository/folders/is-description.ts";
import { cacheFolder } from "../storage/cache/cache-folder.ts";
import { ModelStorage } from "../storage/model-storage.ts";
import type { ServerChoices } from "./server-options.ts";

/** The storage of a server: what reads models, hooks and configurations at addresses. */
export function toModelStorage({ modelCache, modelCacheBytes, storagePollMs, log }: ServerChoices): ModelStorage {
  const folder = modelCache ?? cacheFolder();
  return new ModelStorage({ folder, maxBytes: modelCacheBytes, pollMs: storagePollMs, describes: isDescription, log });
}
