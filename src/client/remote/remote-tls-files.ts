import { readFileSync } from "node:fs";
import { createSecureContext, type SecureContext } from "node:tls";
import { failedPrecondition, reasonText } from "../../errors.ts";
import type { RemoteTlsPaths } from "../../pipeline/remote.ts";

/** Content of the files; null if one is not given. */
type Texts = Readonly<Record<"ca" | "key" | "cert", Buffer | null>>;

/**
 * Files for encrypted connections to other servers, in the form of Node's context: gRPC's client looks at it for each
 * connection that it opens. A certificate that is renewed while the program runs is shown from then on.
 */
export class RemoteTlsFiles implements SecureContext {
  readonly #paths: RemoteTlsPaths;
  #texts: Texts;
  #context: SecureContext;

  /** Throws `failed_precondition` for a file that cannot be read or used. */
  constructor(paths: RemoteTlsPaths) {
    this.#paths = paths;
    this.#texts = readTexts(paths);
    this.#context = toContext(this.#texts);
  }

  /** Node's own object, of the files as they are now; of what they were if they cannot be used. */
  get context(): unknown {
    try {
      this.#read();
    } catch {
      // The main thread logs it.
    }
    return this.#context.context;
  }

  /** Reads the files again; resolves with their paths if they have changed. Rejects as the constructor throws. */
  async refresh(): Promise<readonly string[]> {
    if (!this.#read()) return [];
    return Object.values(this.#paths).filter((path) => path !== undefined);
  }

  #read(): boolean {
    const texts = readTexts(this.#paths);
    if (isEqual(texts, this.#texts)) return false;
    this.#context = toContext(texts);
    this.#texts = texts;
    return true;
  }
}

function readTexts({ ca, cert, key }: RemoteTlsPaths): Texts {
  return {
    ca: readPem(ca, "--remote-ca"),
    key: readPem(key, "--remote-key"),
    cert: readPem(cert, "--remote-cert"),
  };
}

/** Throws for a certificate without its key, and the reverse, which Node takes. */
function toContext({ ca, cert, key }: Texts): SecureContext {
  // gRPC's own settings, which hold for all its clients.
  const { GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: roots, GRPC_SSL_CIPHER_SUITES: ciphers } = process.env;
  const trusted = ca ?? readPem(roots, "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH");
  try {
    if ((cert === null) !== (key === null)) throw new Error("a certificate and its private key go together");
    return createSecureContext({
      ...(trusted !== null && { ca: trusted }),
      ...(cert !== null && key !== null && { cert, key }),
      ...(ciphers !== undefined && { ciphers }),
    });
  } catch (cause) {
    throw failedPrecondition(
      `The files of --remote-cert and --remote-key cannot be used: ${reasonText(cause)}.`,
      cause,
    );
  }
}

function isEqual(one: Texts, other: Texts): boolean {
  return (["ca", "key", "cert"] as const).every((name) => String(one[name]) === String(other[name]));
}

/**
 * Reads a file in PEM form, null if there is none; throws `failed_precondition`,
 * with the flag, for a file of another form.
 */
export function readPem(path: string | undefined, flag: string): Buffer | null {
  if (path === undefined) return null;
  try {
    const text = readFileSync(path);
    if (text.includes("-----BEGIN ")) return text;
  } catch (cause) {
    throw failedPrecondition(`The file of ${flag} cannot be read from ${path}: ${reasonText(cause)}.`, cause);
  }
  throw failedPrecondition(`${path}, the file of ${flag}, is not in PEM form, which begins with -----BEGIN.`);
}
