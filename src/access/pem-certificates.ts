import { X509Certificate } from "node:crypto";
import { failedPrecondition, reasonText } from "../errors.ts";

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
