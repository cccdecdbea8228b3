import { failedPrecondition } from "../../errors.ts";
import { bindFunctions, processLibrary } from "./bind-functions.ts";

/** Linux's numbers. */
const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2000000;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
/** Bytes of the longest path in a `sockaddr_un`. */
const MAX_PATH_BYTES = 107;

/** Sends one datagram. */
export type SendDatagram = (text: string) => void;

/**
 * Opens a way to a Unix datagram socket, which Node.js does not have; `@` at the beginning of its path stands for
 * Linux's abstract names. Throws `failed_precondition` elsewhere than on Linux; a datagram without a receiver is lost.
 */
export function openDatagrams(path: string): SendDatagram {
  if (process.platform !== "linux") throw failedPrecondition("Unix datagram sockets are used on Linux alone.");
  const name = Buffer.from(path.startsWith("@") ? `\0${path.slice(1)}` : path);
  if (name.length > MAX_PATH_BYTES)
    throw failedPrecondition(`The socket's path has more than ${MAX_PATH_BYTES} bytes.`);
  const { socket, sendto } = bindFunctions(
    processLibrary(),
    {
      socket: ["int", "int", "int", "int"],
      sendto: ["int64_t", "int", "void *", "size_t", "int", "void *", "int"],
    },
    "The C library",
  );
  const descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) throw failedPrecondition("The system gives no Unix datagram socket.");
  const address = Buffer.concat([Buffer.of(AF_UNIX, 0), name]);
  return (text) => {
    const bytes = Buffer.from(text);
    sendto(descriptor, bytes, bytes.length, MSG_DONTWAIT | MSG_NOSIGNAL, address, address.length);
  };
}
