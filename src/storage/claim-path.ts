import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { failedPrecondition, invalidArgument } from "../errors.ts";
import { withoutEnd } from "../text/without-end.ts";
import { localName } from "./local-name.ts";
import { filePath, schemeOf } from "./remote-address.ts";

/**
 * The local path for `pvc://CLAIM/PATH` and `file:///PATH`; other paths are returned unchanged. The claim is where
 * KServe mounts it: all of it at `/mnt/pvc`, or what is at its path at `/mnt/models`. Throws `failed_precondition`
 * where it is not mounted.
 */
export function claimPath(path: string, root = "/mnt"): string {
  if (schemeOf(path) !== "pvc") return filePath(path);
  const [claim = "", ...parts] = withoutEnd(path.slice("pvc://".length), "/").split("/");
  if (!/^[a-z\d](?:[a-z\d.-]*[a-z\d])?$/.test(claim))
    throw invalidArgument(`${path.slice(0, 200)} has no claim's name; expected pvc://CLAIM/PATH.`);
  const name = parts.length === 0 ? "" : localName(parts.join("/"));
  const models = join(root, "models");
  const found = [join(root, "pvc", name), join(models, name), join(models, basename(name)), models].find(existsSync);
  if (found !== undefined) return found;
  throw failedPrecondition(
    `${path} is not mounted: neither ${join(root, "pvc", name)} nor ${models} is there; expected the claim as a volume at ${join(root, "pvc")}.`,
  );
}
