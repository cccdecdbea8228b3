import { basename, dirname, parse, resolve } from "node:path";
import { parseVersion } from "../../serving/parse-version.ts";
import { addressName, isRemoteAddress } from "../../storage/remote-address.ts";

/** The name of a file without its ending, or of a folder; a version's folder has its model's name. */
export function modelName(place: string): string {
  if (isRemoteAddress(place)) return addressName(place);
  const path = resolve(place);
  const name = parse(path).name;
  return parseVersion(name) === undefined ? name : basename(dirname(path));
}
