import type { TlsPaths } from "../../access/tls-files.ts";
import { parseServerAddress } from "../../client/remote/server-address.ts";
import { invalidArgument } from "../../errors.ts";
import type { ServerOptions } from "../../server/server-options.ts";
import type { Settings } from "../settings/settings.ts";

/** Flags of a port's certificates. */
type TlsFlags = Pick<Settings<"proxy">, "tlsCert" | "tlsKey" | "tlsClientCa">;

/**
 * Paths of the files by which ports are encrypted; undefined = they are not. Throws
 * `invalid_argument` if one is missing.
 */
export function toTlsPaths({ tlsCert: cert, tlsKey: key, tlsClientCa: clientCa }: TlsFlags): TlsPaths | undefined {
  if (cert === undefined && key === undefined && clientCa === undefined) return undefined;
  if (cert === undefined) throw invalidArgument("--tls-cert is missing; it goes with --tls-key and --tls-client-ca.");
  if (key === undefined) throw invalidArgument("--tls-key is missing; it is the private key of --tls-cert.");
  return { cert, key, ...(clientCa !== undefined && { clientCa }) };
}

/** Flags of connections to other servers. */
type RemoteFlags = Pick<Settings<"proxy">, "remoteCa" | "remoteCert" | "remoteKey">;

/**
 * Files for encrypted connections to other servers. Throws `invalid_argument` for a
 * certificate without its key, and the reverse.
 */
export function toRemoteTls({
  remoteCa: ca,
  remoteCert: cert,
  remoteKey: key,
}: RemoteFlags): Pick<ServerOptions, "remoteTls"> {
  if ((cert === undefined) !== (key === undefined))
    throw invalidArgument("--remote-cert and --remote-key go together: a certificate and its private key.");
  const isGiven = ca !== undefined || cert !== undefined;
  return isGiven ? { remoteTls: { ca, cert, key } } : {};
}

/**
 * Files for the connection of `kserving proxy` to its server. Throws
 * `invalid_argument` if they are given for a plain one, too.
 */
export function toProxyTls(settings: Settings<"proxy">): ServerOptions["remoteTls"] {
  const { remoteTls } = toRemoteTls(settings);
  const { grpcAddress } = settings;
  if (remoteTls === undefined || parseServerAddress(grpcAddress).isEncrypted) return remoteTls;
  throw invalidArgument(
    `--remote-ca, --remote-cert and --remote-key are for an encrypted connection; expected --grpc-address grpcs://${grpcAddress}.`,
  );
}
