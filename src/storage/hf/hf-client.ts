import { invalidArgument } from "../../errors.ts";
import { decodeName } from "../decode-name.ts";
import { parseSha256 } from "../parse-sha256.ts";
import { shownAddress } from "../remote-address.ts";
import type { StorageClient } from "../storage-client.ts";
import { HfPlace, type HfRepository } from "./hf-place.ts";

const EXPECTED = "hf://OWNER/NAME, hf://OWNER/NAME@REVISION or hf://OWNER/NAME/PATH";

/** Model repositories of the Hugging Face Hub, and of servers with its interface. */
export const hfClient: StorageClient = {
  parse: (text) => {
    const { address, sha256 } = parseSha256(text);
    const { key, ...repository } = parseHf(address);
    const open = () => HfPlace.of(repository);
    return { title: address, key, open, ...(sha256 !== undefined && { sha256 }) };
  },
};

/**
 * Reads `hf://OWNER/NAME@REVISION/PATH`; KServe has a colon before the revision.
 * Slashes in a revision are written as %2F.
 */
function parseHf(address: string): HfRepository & { readonly key: string } {
  const [owner = "", named = "", ...path] = address
    .slice("hf://".length)
    .split("/")
    .filter((part) => part !== "");
  const [, name = "", revision = "main"] = /^([\w.-]+)(?:[@:]([^@:]+))?$/.exec(named) ?? [];
  if (!/^[\w.-]+$/.test(owner) || name === "" || ["datasets", "spaces"].includes(owner))
    throw invalidArgument(
      `${shownAddress(address).slice(0, 200)} is not a repository of models; expected ${EXPECTED}.`,
    );
  return { name: `${owner}/${name}`, revision: decodeName(revision), key: path.join("/") };
}
