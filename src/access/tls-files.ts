import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext, DEFAULT_CIPHERS, type Server } from "node:tls";
import { failedPrecondition, reasonText } from "../errors.ts";
import type { ENCRYPTION_SETTINGS } from "../platform/limits/settings/access-settings.ts";
import type { ValueOf } from "../platform/limits/settings/setting.ts";

/** PEM files by their paths, or PEM texts themselves. */
export interface TlsPaths {
  /** The server's certificate, with those between it and its authority behind it. */
  readonly cert: string;
  /** Its private key, without a passphrase. */
  readonly key: string;
  /** Certificates of the authorities that sign clients' certificates; absent = clients need none. */
  readonly clientCa?: string | undefined;
  /** Default `ports`: both, and not the Unix socket. */
  readonly scope?: ValueOf<typeof ENCRYPTION_SETTINGS.tlsScope> | undefined;
}

/** Contents of the files, in the form of Node's options. */
export interface TlsCredentials {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca?: Buffer;
  readonly ecdhCurve: string;
  readonly ciphers: string;
}

/** Content of the files, with the server's certificates in it. */
interface Read {
  readonly credentials: TlsCredentials;
  readonly fingerprint: string;
  readonly chain: readonly X509Certificate[];
}

/** The credentials of a server, read again when their files change. */
export class TlsFiles {
  readonly #paths: TlsPaths;
  #read: Read;

  private constructor(paths: TlsPaths, read: Read) {
    this.#paths = paths;
    this.#read = read;
  }

  /** Reads the files; throws `failed_precondition` if one cannot be read or they do not fit together. */
  static async open(paths: TlsPaths): Promise<TlsFiles> {
    return new TlsFiles(paths, check(await readCredentials(paths), paths));
  }

  /** True if HTTP is not encrypted, and the Unix socket is. */
  get isForGrpcAlone(): boolean {
    return this.#paths.scope === "grpc";
  }

  get credentials(): TlsCredentials {
    return this.#read.credentials;
  }

  /** The server's own certificate. */
  get certificate(): X509Certificate {
    return this.#read.chain[0] as X509Certificate;
  }

  /** The reason for which clients refuse the server's certificate, or soon will; undefined if there is none. */
  validityProblem(): ValidityProblem | undefined {
    return validityProblem(this.#read.chain);
  }

  /**
   * Reads the files again and gives new connections to the servers what has changed; resolves with true if that is
   * something. Connections that there are go on. Throws as {@link open}, and changes nothing then.
   */
  async refresh(servers: readonly Pick<Server, "setSecureContext">[]): Promise<boolean> {
    const credentials = await readCredentials(this.#paths);
    if (fingerprintOf(credentials) === this.#read.fingerprint) return false;
    const read = check(credentials, this.#paths);
    for (const server of servers) server.setSecureContext(credentials);
    this.#read = read;
    return true;
  }
}

/**
 * Groups by which keys are exchanged: those whose handshake costs milliseconds. The client chooses, and ffdhe8192,
 * which Node takes too, costs the thread a hundred.
 */
const GROUPS = "X25519:P-256:P-384";
/** A group against quantum computers, which only OpenSSL from 3.5 on knows. */
const HYBRID_GROUP = "X25519MLKEM768";
let groups: string | undefined;

function findGroups(): string {
  const all = `${HYBRID_GROUP}:${GROUPS}`;
  try {
    createSecureContext({ ecdhCurve: all });
    return all;
  } catch {
    return GROUPS;
  }
}

/**
 * Node's own, but for those that RFC 9113 forbids to HTTP/2. If the key is the server's RSA key, a later thief of it
 * can read recorded traffic; those with their own hash have block chaining, whose padding has been read by its time.
 */
const CIPHERS = `${DEFAULT_CIPHERS}:!kRSA:!SHA1:!SHA256:!SHA384`;

const PEM_START = "-----BEGIN ";

async function readCredentials({ cert, key, clientCa }: TlsPaths): Promise<TlsCredentials> {
  const [certText, keyText] = [await read(cert, "certificate"), await read(key, "private key")];
  const ca = clientCa === undefined ? {} : { ca: await read(clientCa, "certificate of the clients' authority") };
  groups ??= findGroups();
  return { cert: certText, key: keyText, ...ca, ecdhCurve: groups, ciphers: CIPHERS };
}

/** Throws `failed_precondition` for what cannot be used; a bundle of hundreds takes 50 ms. */
function check(credentials: TlsCredentials, { cert, clientCa = "" }: TlsPaths): Read {
  const chain = readCertificates(credentials.cert, `certificate${placeOf(cert)}`);
  if (credentials.ca !== undefined)
    readCertificates(credentials.ca, `file of clients' authorities${placeOf(clientCa)}`);
  try {
    createSecureContext(credentials);
  } catch (cause) {
    const why = isMisplaced(chain, credentials.key) ? OTHER_ORDER : whyNot(reasonText(cause));
    throw failedPrecondition(`The TLS files do not fit together: ${why}`, cause);
  }
  return { credentials, fingerprint: fingerprintOf(credentials), chain };
}

function placeOf(path: string): string {
  return path.includes(PEM_START) ? "" : ` ${path}`;
}

const OTHER_ORDER =
  "the certificate of the private key is not the first of its file; expected it first, and those between it and its authority behind it.";

function isMisplaced(chain: readonly X509Certificate[], key: Buffer): boolean {
  try {
    const ofKey = createPrivateKey(key);
    return chain.some((certificate) => certificate.checkPrivateKey(ofKey));
  } catch {
    return false;
  }
}

async function read(path: string, what: string): Promise<Buffer> {
  if (path.includes(PEM_START)) return Buffer.from(path);
  try {
    const text = await readFile(path);
    if (text.includes(PEM_START)) return text;
  } catch (cause) {
    throw failedPrecondition(`The ${what} cannot be read from ${path}: ${reasonText(cause)}`, cause);
  }
  throw failedPrecondition(
    `${path} is not a ${what} in PEM form, which begins with -----BEGIN; openssl converts other forms.`,
  );
}

/** OpenSSL's words, with what to do. */
function whyNot(reason: string): string {
  if (/key values mismatch/i.test(reason)) return "the private key is not that of the certificate.";
  if (/bad password read|interrupted or cancelled|passphrase|bad decrypt/i.test(reason))
    return "the private key has a passphrase; remove it with openssl pkey -in KEY -out PLAIN_KEY.";
  return `${reason}; expected a certificate and its private key in PEM form.`;
}

function fingerprintOf({ cert, key, ca = Buffer.alloc(0) }: TlsCredentials): string {
  const hash = createHash("sha256");
  for (const part of [cert, key, ca]) hash.update(String(part.length)).update(part);
  return hash.digest("hex");
}

const BEGIN = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/;
const END = /-----END (?:X509 |TRUSTED )?CERTIFICATE-----/;

/**
 * The certificates of a PEM text, in order. Throws `failed_precondition` if there is none, or one that cannot be
 * read: OpenSSL takes those before it, and says nothing.
 */
export function readCertificates(pem: Buffer, what: string): readonly X509Certificate[] {
  const [, ...blocks] = pem.toString("latin1").split(BEGIN);
  if (blocks.length === 0)
    throw failedPrecondition(`The ${what} has no certificate; expected -----BEGIN CERTIFICATE----- in it.`);
  return blocks.map((block, index) => {
    try {
      return toCertificate(block);
    } catch (cause) {
      const which = `certificate ${index + 1} of ${blocks.length}`;
      throw failedPrecondition(
        `The ${what} has a ${which} that cannot be read: ${reasonText(cause)}. Write the file again, whole.`,
        cause,
      );
    }
  });
}

function toCertificate(block: string): X509Certificate {
  const end = block.search(END);
  if (end < 0) throw new Error("its end is missing");
  // What OpenSSL adds to a trusted certificate stands behind it.
  return new X509Certificate(Buffer.from(block.slice(0, end), "base64"));
}

/** Share of a certificate's time, and days, before its end at which it should be renewed. */
const SOON_SHARE = 0.1;
const SOON_DAYS = 14;
const DAY_MS = 24 * 60 * 60 * 1000;

/** A reason for which clients refuse certificates, or soon will. */
export interface ValidityProblem {
  readonly isSoon: boolean;
  readonly text: string;
}

/** The first problem with the time for which certificates are valid; undefined if there is none. */
export function validityProblem(
  certificates: readonly X509Certificate[],
  now = Date.now(),
): ValidityProblem | undefined {
  const problems = certificates.flatMap((one) => problemOf(one, now) ?? []);
  return problems.find(({ isSoon }) => !isSoon) ?? problems[0];
}

function problemOf({ subject, validFrom, validTo }: X509Certificate, now: number): ValidityProblem | undefined {
  const [from, to] = [Date.parse(validFrom), Date.parse(validTo)];
  const name = subject === "" ? "" : ` of ${subject.replaceAll("\n", ", ")}`;
  const told = (isSoon: boolean, text: string) => ({ isSoon, text: `the certificate${name} ${text}` });
  if (now < from) return told(false, `is not valid before ${validFrom}: clients refuse it until then`);
  if (now > to) return told(false, `expired on ${validTo}: clients refuse it`);
  const soonMs = Math.min(SOON_DAYS * DAY_MS, SOON_SHARE * (to - from));
  return to - now < soonMs ? told(true, `expires on ${validTo}`) : undefined;
}
