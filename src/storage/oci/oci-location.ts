import { invalidArgument } from "../../errors.ts";
import { shownAddress } from "../remote-address.ts";

/** A manifest in a registry. */
export interface OciLocation {
  /** `HOST` or `HOST:PORT`. */
  readonly registry: string;
  readonly repository: string;
  /** A tag, or a digest: `sha256:HEX`. */
  readonly reference: string;
}

const EXPECTED = "oci://REGISTRY/REPOSITORY:TAG or oci://REGISTRY/REPOSITORY@sha256:HEX, perhaps with /PATH after it";
const NAME = /^[a-z\d]+(?:(?:[._]|__|-+)[a-z\d]+)*$/;

/**
 * Reads `oci://REGISTRY/REPOSITORY:TAG/PATH`; without a tag or digest all of the path is the repository's, and the tag
 * is `latest`. Names are those of https://github.com/opencontainers/distribution-spec/blob/main/spec.md
 */
export function parseOci(address: string): OciLocation & { readonly key: string } {
  const [registry = "", ...parts] = address
    .slice("oci://".length)
    .split("/")
    .filter((part) => part !== "");
  const at = parts.findIndex((part) => /[:@]/.test(part));
  const names = at === -1 ? parts : parts.slice(0, at + 1);
  const [, last = "", tag, digest] =
    /^([^:@]+)(?::([\w][\w.-]{0,127}))?(?:@(sha256:[\da-f]{64}))?$/.exec(names.at(-1) ?? "") ?? [];
  const path = [...names.slice(0, -1), last];
  if (!/^[\w.-]+(?::\d+)?$/.test(registry) || !path.every((part) => NAME.test(part)))
    throw invalidArgument(`${shownAddress(address).slice(0, 300)} is not in a registry; expected ${EXPECTED}.`);
  const key = at === -1 ? "" : parts.slice(at + 1).join("/");
  return { registry, repository: path.join("/"), reference: digest ?? tag ?? "latest", key };
}

/** Checks if a registry is on this machine: such ones alone are spoken to without encryption, as Docker does it. */
export function isLocalRegistry({ registry }: OciLocation): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3})(?::\d+)?$/.test(registry);
}
