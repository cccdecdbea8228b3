import { failedPrecondition } from "../../errors.ts";
import type { ModelStorage } from "../../storage/model-storage.ts";
import { shownAddress } from "../../storage/remote-address.ts";

/** The storage; throws `failed_precondition` where there is none to read an address with. */
export function requireStorage(storage: ModelStorage | undefined, address: string): ModelStorage {
  if (storage !== undefined) return storage;
  throw failedPrecondition(`${shownAddress(address)} is not read by this command; expected a path on this machine.`);
}
