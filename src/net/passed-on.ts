import type { Socket } from "node:net";

const PASSED_ON = Symbol("passedOn");

/** Marks a connection over which another thread of this server passes on what a client's connection sends. */
export function markPassedOn(socket: Socket): Socket {
  return Object.defineProperty(socket, PASSED_ON, { value: true });
}

/** Checks that a connection has the mark. */
export function isPassedOn(socket: object | undefined): boolean {
  return (socket as { readonly [PASSED_ON]?: boolean } | undefined)?.[PASSED_ON] === true;
}
