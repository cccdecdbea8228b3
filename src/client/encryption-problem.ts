/** A reason for which a connection could not be encrypted, and what to do. */
export interface EncryptionProblem {
  /** Undefined = the text says it. */
  readonly meaning: string | undefined;
  readonly advice: string;
}

interface KnownProblem {
  /** Words of OpenSSL and Node. */
  readonly pattern: RegExp;
  readonly meaning?: string;
  readonly http: string;
  readonly grpc: string;
}

/** In order: the first one that fits counts. */
const PROBLEMS: readonly KnownProblem[] = [
  {
    pattern: /wrong version number|packet length too long|before secure TLS connection/,
    meaning: "it is not encrypted there",
    http: "Name it with http://.",
    grpc: "Name it with grpc://.",
  },
  {
    pattern: /certificate required|handshake failure|bad certificate/,
    meaning: "it asks its clients for a certificate",
    http: "Give one through the fetch option.",
    grpc: "Give one as tls: { cert, key }; the program kserving has none to show, but for its proxy and health.",
  },
  {
    pattern: /certificate|altname|issuer/i,
    http: "Start Node with NODE_EXTRA_CA_CERTS=FILE, the authority that signed it, or use the name that it is for.",
    grpc: "Give the authority that signed it as tls: { ca } or by NODE_EXTRA_CA_CERTS, or use the name that it is for.",
  },
];

/** The problem of encryption in the text of a failed connection; undefined where there is none. */
export function encryptionProblem(text: string, transport: "http" | "grpc"): EncryptionProblem | undefined {
  const found = PROBLEMS.find(({ pattern }) => pattern.test(text));
  return found && { meaning: found.meaning, advice: found[transport] };
}
