import { readFileSync } from "node:fs";
import type { Server } from "@grpc/grpc-js";
import { ReflectionService } from "@grpc/reflection";
import { WIRE, WireReader } from "./wire-reader.ts";

/** Built by `npm run gen`. */
const DESCRIPTORS = new URL("../../proto/descriptors.binpb", import.meta.url);

/** The only field of google.protobuf.FileDescriptorSet. */
const FILE = 1;

type Packages = ConstructorParameters<typeof ReflectionService>[0];

/** Adds server reflection, v1 and v1alpha, so that grpcurl, buf curl and Postman need no .proto files. */
export function addReflection(server: Server): void {
  // Reflection reads nothing else of a package, and what proto-loader makes of our files has lost their imports,
  // without which clients cannot link them.
  const files = { fileDescriptorProtos: readFileDescriptors() };
  new ReflectionService({ files } as unknown as Packages).addToServer(server);
}

/** Each FileDescriptorProto of proto/, encoded. */
function readFileDescriptors(): Buffer[] {
  const reader = new WireReader(readFileSync(DESCRIPTORS), "FileDescriptorSet");
  const files: Buffer[] = [];
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === ((FILE << 3) | WIRE.bytes)) files.push(Buffer.from(reader.bytes()));
    else reader.skip(tag);
  }
  return files;
}
