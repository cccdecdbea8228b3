import { readFileSync } from "node:fs";
import type { MethodDefinition, Server, UntypedServiceImplementation } from "@grpc/grpc-js";
import { ReflectionService } from "@grpc/reflection";
import { frameBytes } from "../../grpc/framed-message.ts";
import type { StreamMethod } from "../../grpc/grpc-route.ts";
import { bytesTag, WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";

/** Built by `npm run gen`. */
const DESCRIPTORS = new URL("../../../proto/descriptors.binpb", import.meta.url);

/** The only field of google.protobuf.FileDescriptorSet. */
const FILE = 1;

type Packages = ConstructorParameters<typeof ReflectionService>[0];
type Method = MethodDefinition<unknown, unknown>;

/** The methods that answer streams of requests, by their path. */
export type ReflectionHandlers = Readonly<Record<string, StreamMethod>>;

/** Creates the handlers of reflection v1 and v1alpha from the server's services. */
export function createReflectionHandlers(): ReflectionHandlers {
  // Reflection reads nothing else of a package, and what proto-loader makes of our files has lost their imports,
  // without which clients cannot link them.
  const files = { fileDescriptorProtos: readFileDescriptors() };
  const handlers: Record<string, StreamMethod> = {};
  const addService = (service: Readonly<Record<string, Method>>, implementation: UntypedServiceImplementation) => {
    for (const [name, method] of Object.entries(service)) {
      const handle = implementation[name] as (call: unknown) => void;
      handlers[method.path] = toStreamMethod(handle, method);
    }
  };
  new ReflectionService({ files } as unknown as Packages).addToServer({ addService } as unknown as Server);
  return handlers;
}

/** A method for a handler written for grpc-js, which answers each request immediately. */
function toStreamMethod(
  handle: (call: unknown) => void,
  { requestDeserialize, responseSerialize }: Method,
): StreamMethod {
  return async ({ messages, write }) => {
    const listeners: Record<string, (message?: unknown) => void> = {};
    const answers: Buffer[] = [];
    handle({
      on: (event: string, listener: (message?: unknown) => void) => {
        listeners[event] = listener;
      },
      write: (answer: unknown) => answers.push(responseSerialize(answer)),
      end: () => {},
    });
    for await (const message of messages) {
      listeners.data?.(requestDeserialize(Buffer.from(message)));
      for (const answer of answers.splice(0)) await write(frameBytes(answer));
    }
  };
}

/** Each FileDescriptorProto of proto/, encoded. */
function readFileDescriptors(): Buffer[] {
  const reader = new WireReader(readFileSync(DESCRIPTORS), "FileDescriptorSet");
  const files: Buffer[] = [];
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === bytesTag(FILE)) files.push(Buffer.from(reader.bytes()));
    else reader.skip(tag);
  }
  return files;
}
