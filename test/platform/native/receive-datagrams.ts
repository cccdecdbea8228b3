import { onTestFinished } from "vitest";
import { bindFunctions, processLibrary, runAsync } from "../../../src/platform/native/bind-functions.ts";

const AF_UNIX = 1;
const SOCK_DGRAM = 2;

/** Opens a Unix datagram socket, which Node.js does not have; what it returns resolves with the next datagram. */
export function receiveDatagrams(path: string): () => Promise<string> {
  const library = bindFunctions(
    processLibrary(),
    {
      socket: ["int", "int", "int", "int"],
      bind: ["int", "int", "void *", "int"],
      recv: ["int64_t", "int", "void *", "size_t", "int"],
      shutdown: ["int", "int", "int"],
      close: ["int", "int"],
    },
    "The C library",
  );
  const descriptor = library.socket(AF_UNIX, SOCK_DGRAM, 0);
  const name = Buffer.from(path.startsWith("@") ? `\0${path.slice(1)}` : path);
  const address = Buffer.concat([Buffer.of(AF_UNIX, 0), name]);
  if (library.bind(descriptor, address, address.length) !== 0) throw new Error(`cannot bind ${path}`);
  onTestFinished(() => void library.close(descriptor));
  return async () => {
    const buffer = Buffer.alloc(4096);
    const bytes = await runAsync(library.recv, descriptor, buffer, buffer.length, 0);
    return buffer.toString("utf8", 0, Number(bytes));
  };
}
