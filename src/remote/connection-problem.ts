import { reasonText } from "../errors.ts";

/** Codes and texts of the system, of Node and of gRPC, and what they mean to a person. */
const MEANINGS: readonly (readonly [pattern: RegExp, meaning: string])[] = [
  [/ECONNREFUSED|ENOENT/, "nothing listens there; start a server, or correct the address"],
  [/ENOTFOUND|EAI_AGAIN|name resolution failed/i, "no machine has this name; correct the address"],
  [/DEADLINE_EXCEEDED/, "no answer in time"],
  [/UNIMPLEMENTED/, "it has no health service (grpc.health.v1)"],
  [
    /^14 UNAVAILABLE/,
    "it speaks no gRPC, or not without TLS; http:// before the address asks over HTTP, grpcs:// over TLS",
  ],
];

/** The reason for which a server gave no answer, in one sentence. */
export function connectionProblem(reason: unknown): string {
  const text = `${reasonText(reason)} ${codeOf(reason)}`.trim();
  return MEANINGS.find(([pattern]) => pattern.test(text))?.[1] ?? reasonText(reason);
}

/** The message of an error about several addresses of one name is empty. */
function codeOf(reason: unknown): string {
  return reason instanceof Error && "code" in reason ? String(reason.code) : "";
}
