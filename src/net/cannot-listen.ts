import { reasonText, ServingError } from "../errors.ts";

/** Names of the flags that the user can change. */
export interface ListenFlags {
  /** Such as `--http-port`. */
  readonly port: string;
  /** Such as `--host`. */
  readonly host: string;
}

/**
 * The error for an address (`host:port`) at which nothing can listen, with the remedy; with `flags`, the remedy names
 * the flag. Code `unavailable`.
 */
export function cannotListen(address: string, cause: Error, flags?: ListenFlags): ServingError {
  return new ServingError("unavailable", `Cannot listen on ${address}: ${whyNot(reasonText(cause), flags)}.`, {
    cause,
  });
}

/** Finds the system's code in the text, since grpc-js gives it only there. */
function whyNot(reason: string, flags: ListenFlags | undefined): string {
  const withFlag = flags === undefined ? "" : ` with ${flags.port}`;
  const [code] = /\bE[A-Z_]+\b/.exec(reason) ?? [];
  switch (code) {
    case "EADDRINUSE":
      return `the port is in use; choose another${withFlag}, or 0 for any free one`;
    case "EACCES":
      return `this user may not listen there; choose a port from 1024 on${withFlag}`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `${flags?.host ?? "the host"} is not an address of this machine (${reason}); expected one, or 0.0.0.0 for all of them`;
    default:
      return reason;
  }
}
