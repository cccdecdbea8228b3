import { readFileSync } from "node:fs";
import type { MethodDefinition, Server, ServerDuplexStream, UntypedServiceImplementation } from "@grpc/grpc-js";
import { ReflectionService } from "@grpc/reflection";
import { WIRE, WireReader } from "../../codecs/protobuf/wire-reader.ts";

/** Built by `npm run gen`. */
const DESCRIPTORS = new URL("../../../proto/descriptors.binpb", import.meta.url);

/** The only field of google.protobuf.FileDescriptorSet. */
const FILE = 1;

type Packages = ConstructorParameters<typeof ReflectionService>[0];
type Method = MethodDefinition<unknown, unknown>;

/** What answers a stream of encoded questions, by the method's path. */
export type ReflectionHandlers = Readonly<Record<string, (call: ServerDuplexStream<Buffer, Buffer>) => void>>;

/** Reads what the server offers and makes the handlers of reflection v1 and v1alpha. */
export function createReflectionHandlers(): ReflectionHandlers {
  // Reflection reads nothing else of a package, and what proto-loader makes of our files has lost their imports,
  // without which clients cannot link them.
  const files = { fileDescriptorProtos: readFileDescriptors() };
  const handlers: Record<string, (call: ServerDuplexStream<Buffer, Buffer>) => void> = {};
  const addService = (service: Readonly<Record<string, Method>>, implementation: UntypedServiceImplementation) => {
    for (const [name, method] of Object.entries(service)) {
      const handle = implementation[name] as (call: unknown) => void;
      handlers[method.path] = (call) => handle(decoded(call, method));
    }
  };
  new ReflectionService({ files } as unknown as Packages).addToServer({ addService } as unknown as Server);
  return handlers;
}

/** All that the handlers use of a call, with messages in place of bytes. */
function decoded(call: ServerDuplexStream<Buffer, Buffer>, { requestDeserialize, responseSerialize }: Method) {
  return {
    on: (event: string, listener: (message?: unknown) => void) =>
      call.on(event, (bytes?: Buffer) => listener(bytes && requestDeserialize(bytes))),
    write: (message: unknown) => call.write(responseSerialize(message)),
    end: () => call.end(),
  };
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
