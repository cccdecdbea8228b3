import { readFileSync } from "node:fs";
import { invalidArgument, STATUS } from "../../errors.ts";
import { frameBytes } from "../../grpc/framed-message.ts";
import type { StreamMethod } from "../../grpc/grpc-route.ts";
import { cutText } from "../../platform/text/cut-text.ts";
import { tagOf, WIRE, WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";
import {
  bytesField,
  encodeMessage,
  integerField,
  messageField,
  textElement,
  type WirePart,
} from "../../tensor/codecs/protobuf/wire-writer.ts";

/** Built by `npm run gen`. */
const DESCRIPTORS = new URL("../../../proto/descriptors.binpb", import.meta.url);

/** The only field of google.protobuf.FileDescriptorSet. */
const FILES = 1;
/** The fields that are read of a FileDescriptorProto, and of all that such a file declares. */
const FILE = { name: 1, package: 2, imports: 3, messages: 4, enums: 5, services: 6 } as const;
const MESSAGE = { fields: 2, messages: 3, enums: 4, oneofs: 8 } as const;
const NAME = 1;
/** Values of an enum, and methods of a service. */
const MEMBERS = 2;

/** Fields of ServerReflectionRequest and ServerReflectionResponse, the same in v1 and v1alpha. */
const REQUEST = { host: 1, fileByName: 3, fileOfSymbol: 4, fileOfExtension: 5, extensionsOf: 6, services: 7 } as const;
const RESPONSE = { host: 1, request: 2, files: 4, services: 6, error: 7 } as const;

/** Most bytes of a request, which has a name and a host: each of a large one's fields would take its time. */
const MAX_REQUEST_BYTES = 4096;

/** A file of descriptors, and the names of those that it imports. */
interface DescriptorFile {
  readonly bytes: Buffer;
  readonly imports: readonly string[];
}

/** Creates the method of server reflection, which knows the services of proto/. */
export function createReflection(): StreamMethod {
  const index = new DescriptorIndex(readFileSync(DESCRIPTORS));
  return async ({ messages, memory, write }) => {
    for await (const message of messages) {
      if (message.length > MAX_REQUEST_BYTES) throw tooLong(message.length);
      await write(frameBytes(answer(index, message)));
      memory.shrink(message.length);
    }
  };
}

function tooLong(bytes: number): Error {
  return invalidArgument(
    `The request has ${bytes} bytes; expected the name of a file or a symbol in ${MAX_REQUEST_BYTES} bytes at most.`,
  );
}

function answer(index: DescriptorIndex, request: Uint8Array): Buffer {
  const fields = fieldsOf(request, "ServerReflectionRequest");
  const host = fields.find(([field]) => field === REQUEST.host)?.[1] ?? Buffer.alloc(0);
  // Of several questions the last one counts, as in every oneof.
  const [asked, bytes] = fields.findLast(([field]) => field > REQUEST.host) ?? [0, Buffer.alloc(0)];
  const answered = answerTo(index, asked, bytes.toString());
  return encodeMessage([bytesField(RESPONSE.host, host), bytesField(RESPONSE.request, request), answered]);
}

function answerTo(index: DescriptorIndex, asked: number, name: string): WirePart {
  switch (asked) {
    case REQUEST.services: {
      const services = index.services.map((service) => messageField(1, [textElement(NAME, service)]));
      return messageField(RESPONSE.services, services);
    }
    case REQUEST.fileByName:
      return toFiles(index.withImports(index.files.get(name))) ?? notFound(`Proto file not found: ${name}`);
    case REQUEST.fileOfSymbol:
      return toFiles(index.withImports(index.symbols.get(name))) ?? notFound(`Symbol not found: ${name}`);
    case REQUEST.fileOfExtension:
    case REQUEST.extensionsOf:
      return notFound("There are no extensions here.");
    default:
      return toError(STATUS.unimplemented.grpc, "The request asks for nothing that is known here.");
  }
}

function toFiles(files: readonly DescriptorFile[]): WirePart | undefined {
  if (files.length === 0) return undefined;
  return messageField(
    RESPONSE.files,
    files.map(({ bytes }) => bytesField(1, bytes)),
  );
}

function notFound(message: string): WirePart {
  return toError(STATUS.not_found.grpc, cutText(message));
}

function toError(code: number, message: string): WirePart {
  return messageField(RESPONSE.error, [integerField(1, code), textElement(2, message)]);
}

/** Files of descriptors by their names, and by the whole names of what they declare. */
class DescriptorIndex {
  readonly files = new Map<string, DescriptorFile>();
  readonly symbols = new Map<string, DescriptorFile>();
  readonly services: string[] = [];

  constructor(descriptors: Buffer) {
    for (const bytes of childrenOf(descriptors, FILES)) this.#add(bytes);
  }

  /** A file, and all that it imports, each once; none for none. */
  withImports(first: DescriptorFile | undefined): readonly DescriptorFile[] {
    const found = new Set(first === undefined ? [] : [first]);
    for (const { imports } of found) {
      for (const name of imports) {
        const file = this.files.get(name);
        if (file !== undefined) found.add(file);
      }
    }
    return [...found];
  }

  #add(bytes: Buffer): void {
    const texts = (field: number) => childrenOf(bytes, field).map(String);
    const [name = ""] = texts(FILE.name);
    const [scope = ""] = texts(FILE.package);
    const file = { bytes, imports: texts(FILE.imports) };
    this.files.set(name, file);
    for (const message of childrenOf(bytes, FILE.messages)) this.#addMessage(file, message, scope);
    for (const each of childrenOf(bytes, FILE.enums)) this.#addEnum(file, each, scope);
    for (const service of childrenOf(bytes, FILE.services)) {
      const named = this.#name(file, service, scope);
      this.services.push(named);
      for (const method of childrenOf(service, MEMBERS)) this.#name(file, method, named);
    }
  }

  #addMessage(file: DescriptorFile, message: Buffer, scope: string): void {
    const name = this.#name(file, message, scope);
    for (const field of [...childrenOf(message, MESSAGE.fields), ...childrenOf(message, MESSAGE.oneofs)])
      this.#name(file, field, name);
    for (const nested of childrenOf(message, MESSAGE.messages)) this.#addMessage(file, nested, name);
    for (const each of childrenOf(message, MESSAGE.enums)) this.#addEnum(file, each, name);
  }

  /** The values of an enum are named beside it. */
  #addEnum(file: DescriptorFile, each: Buffer, scope: string): void {
    this.#name(file, each, scope);
    for (const value of childrenOf(each, MEMBERS)) this.#name(file, value, scope);
  }

  /** Adds what a file declares in a scope; returns its whole name. */
  #name(file: DescriptorFile, declared: Buffer, scope: string): string {
    const [own] = childrenOf(declared, NAME);
    const name = scope === "" ? String(own) : `${scope}.${own}`;
    this.symbols.set(name, file);
    return name;
  }
}

function childrenOf(bytes: Uint8Array, field: number): readonly Buffer[] {
  return fieldsOf(bytes, "FileDescriptorSet").flatMap(([number, child]) => (number === field ? [child] : []));
}

/** The length-delimited fields of a message, in their order. Throws `invalid_argument` for anything else. */
function fieldsOf(bytes: Uint8Array, message: string): readonly (readonly [field: number, bytes: Buffer])[] {
  const reader = new WireReader(bytes, message);
  const fields: [number, Buffer][] = [];
  while (reader.hasMore()) {
    const tag = reader.tag();
    const field = tag >>> 3;
    if (tag !== tagOf(field, WIRE.bytes)) {
      reader.skip(tag);
      continue;
    }
    const { buffer, byteOffset, length } = reader.bytes();
    fields.push([field, Buffer.from(buffer, byteOffset, length)]);
  }
  return fields;
}
