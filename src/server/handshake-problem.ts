import { onceInAWhile } from "../access/once-in-a-while.ts";
import type { Logger } from "../observability/logger.ts";

/** Words of OpenSSL and Node, and what they mean to a person. The first that fits counts. */
const MEANINGS: readonly (readonly [pattern: RegExp, meaning: string])[] = [
  [/http request/, "it speaks HTTP without TLS; expected https:// at the client"],
  [/wrong version number|bad record type|invalid record/, "it does not speak TLS; expected grpcs:// or https:// there"],
  [/did not return a certificate/, "it shows no certificate, which --tls-client-ca asks for"],
  [/CERT_HAS_EXPIRED/, "its certificate has expired"],
  [/CERT_NOT_YET_VALID/, "its certificate is not valid yet"],
  [/SELF_SIGNED_CERT|UNABLE_TO_/, "its certificate is of no authority in the file of --tls-client-ca"],
  [/INVALID_PURPOSE/, "its certificate is not one for clients (extendedKeyUsage)"],
  [/no application protocol/, "it offers no protocol of this port (ALPN): h2 for gRPC, http/1.1 for HTTP"],
  [/unsupported protocol/, "it speaks neither TLS 1.2 nor TLS 1.3"],
  [/no shared cipher|no suitable key share/, "it offers no cipher or key exchange of this server"],
  [/alert (?:unknown ca|bad certificate|certificate)/, "it does not trust the certificate of this server"],
  [/TLS handshake timeout/, "it did not finish its handshake in time"],
];

/** Logs why clients did not get an encrypted connection: each reason once a minute, so that none hides another. */
export function warnOfRefused(
  log: Logger,
): (reason: Error, client?: { readonly remoteAddress?: string | undefined }) => void {
  const warnings = new Map<string, (address: string | undefined) => void>();
  const warningOf = (why: string) =>
    onceInAWhile((address: string | undefined) =>
      log.warn(`a client did not get an encrypted connection: ${why}`, address === undefined ? {} : { address }),
    );
  return (reason, client) => {
    const why = handshakeProblem(reason, client);
    const warn = warnings.get(why) ?? warningOf(why);
    warnings.set(why, warn);
    warn(client?.remoteAddress);
  };
}

/** The reason for which a handshake failed, without OpenSSL's addresses and lines. */
export function handshakeProblem(reason: Error, client: object = {}): string {
  const { authorizationError } = client as { readonly authorizationError?: unknown };
  const { reason: words, message } = reason as Error & { readonly reason?: unknown };
  const text = String(authorizationError ?? words ?? message);
  return MEANINGS.find(([pattern]) => pattern.test(text))?.[1] ?? text;
}
