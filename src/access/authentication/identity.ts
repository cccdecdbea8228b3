import type { PeerCertificate } from "node:tls";

/** The sender of a call, once it has shown who it is. */
export interface Identity {
  /** Names by which rules know it: `alice`, `token:ci`, `jwt:SUBJECT`, `cn:NAME`; the first one stands in logs. */
  readonly names: readonly [string, ...string[]];
}

/** Parts of an encrypted connection that describe its client's certificate. */
interface CertifiedConnection {
  /** True if an authority of ours has signed it. */
  readonly authorized?: boolean;
  getPeerCertificate?(): Partial<PeerCertificate>;
}

const known = new WeakMap<object, Identity | undefined>();

/**
 * The names of the certificate by which a client has opened a connection: `cn:NAME`, `dns:NAME`, `uri:NAME`,
 * `email:NAME`; undefined if there is none.
 */
export function certificateIdentity(connection: object | undefined): Identity | undefined {
  if (connection === undefined) return undefined;
  if (!known.has(connection)) known.set(connection, read(connection));
  return known.get(connection);
}

function read(connection: CertifiedConnection): Identity | undefined {
  if (connection.authorized !== true) return undefined;
  const { subject, subjectaltname = "" } = connection.getPeerCertificate?.() ?? {};
  // Of several common names none is the one that is meant.
  const common = typeof subject?.CN === "string" ? [`cn:${subject.CN}`] : [];
  const [first, ...others] = [...common, ...alternativeNames(subjectaltname)];
  return first === undefined ? undefined : { names: [first, ...others] };
}

/** `DNS:a.example, URI:spiffe://b`; Node puts what could be mistaken in quotes, and such names are left out. */
function alternativeNames(text: string): readonly string[] {
  if (text.includes('"')) return [];
  return text.split(", ").flatMap((entry) => {
    const [, kind = "", name = ""] = /^(DNS|URI|email):(.+)$/.exec(entry) ?? [];
    return name === "" ? [] : [`${kind.toLowerCase()}:${name}`];
  });
}
