import { basename } from "node:path";
import { ServingError } from "../../errors.ts";
import type { ModelStorage } from "../../storage/model-storage.ts";
import { addressBelow, shownAddress } from "../../storage/remote-address.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { listModels, type ModelList } from "./list-models.ts";

/** Lists the models at an address as `list` does those at a path; throws the errors of the server too. */
export async function listRemoteModels(
  address: string,
  storage: ModelStorage,
  list: (path: string) => Promise<ModelList> = listModels,
): Promise<ModelList> {
  const index = await storage.indexOf(address);
  const toShown = (text: string) => text.replaceAll(index, shownAddress(address));
  const own = basename(index);
  const toRemote = ({ name, path, refusal, ...rest }: ModelConfig): ModelConfig => ({
    ...rest,
    name: path === index && name === own ? basename(shownAddress(address)) : name,
    ...(path !== undefined && { path: addressBelow(address, path.slice(index.length)) }),
    ...(refusal !== undefined && { refusal: toShown(refusal) }),
  });
  try {
    const { models, warnings } = await list(index);
    return { models: models.map(toRemote), warnings: warnings.map(toShown) };
  } catch (reason) {
    const { code, message } = ServingError.from(reason);
    throw new ServingError(code, toShown(message), { cause: reason });
  }
}
