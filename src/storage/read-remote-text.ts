import { failedPrecondition, reasonText, ServingError } from "../errors.ts";
import { readBody } from "./http/read-body.ts";
import { findFiles } from "./objects/find-files.ts";
import { openAddress } from "./open-address.ts";

/** Time that reading a text may take, in milliseconds. */
const MAX_MS = 60_000;

/** Reads a small file at an address; throws the errors of the server, and `failed_precondition` for a folder. */
export async function readRemoteText(text: string): Promise<string> {
  const address = openAddress(text);
  const signal = AbortSignal.timeout(MAX_MS);
  try {
    const place = address.open();
    const { files, isFolder } = await findFiles(place, address, signal);
    const file = files.find(({ key }) => key === address.key);
    if (isFolder || file === undefined) throw failedPrecondition("it is a folder; expected a file of text");
    const { stream } = await place.open(file, 0, signal);
    return await readBody(stream);
  } catch (reason) {
    const why = reasonText(reason).replace(/\.$/, "");
    throw new ServingError(ServingError.from(reason).code, `${address.title} cannot be read: ${why}.`, {
      cause: reason,
    });
  }
}
