import type { Server } from "@grpc/grpc-js";
import type { PackageDefinition } from "@grpc/proto-loader";
import { ReflectionService } from "@grpc/reflection";

/** Adds server reflection, v1 and v1alpha, so that grpcurl, buf curl and Postman need no .proto files. */
export function addReflection(server: Server, descriptors: PackageDefinition): void {
  new ReflectionService(descriptors).addToServer(server);
}
