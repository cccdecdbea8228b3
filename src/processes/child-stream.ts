import type { ChildProcess } from "node:child_process";
import type { Duplex } from "node:stream";
import { ServingError } from "../errors.ts";

/**
 * The stream to a child's descriptor that is a socket; throws `unavailable` where the system could not start the child,
 * for example because the server has no descriptors left: then it has no streams, and its error is an event that comes
 * later.
 */
export function childStream(child: ChildProcess, descriptor: number): Duplex {
  const stream = (child.stdio as ChildProcess["stdio"] | undefined)?.[descriptor];
  if (stream !== null && stream !== undefined) return stream as Duplex;
  child.on("error", () => {});
  throw new ServingError("unavailable", "A process could not be started; does the server have too many open files?");
}
