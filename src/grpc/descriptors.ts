import { readFileSync } from "node:fs";
import { loadFileDescriptorSetFromBuffer, type PackageDefinition } from "@grpc/proto-loader";

/** Built by `npm run gen`. Prebuilt, because descriptors made from .proto texts at run time have file names that clients cannot resolve. */
const DESCRIPTORS = new URL("../../proto/descriptors.binpb", import.meta.url);

/** Everything that proto/ defines, by full name. */
export function loadDescriptors(): PackageDefinition {
  return loadFileDescriptorSetFromBuffer(readFileSync(DESCRIPTORS), { keepCase: true, enums: String, defaults: true });
}
