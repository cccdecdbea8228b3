import { AccessPolicy } from "../access/access-policy.ts";
import type { Authentication } from "../access/authentication/authentication.ts";
import { openConnectionLimit } from "../access/client-gate.ts";
import { readAccountKey } from "../access/client-key.ts";
import type { PageToken } from "../access/page-token.ts";
import type { TrustedProxies } from "../access/trusted-proxies.ts";
import type { Logger } from "../observability/logger.ts";
import type { ConnectionLimit } from "../platform/limits/connection-limit.ts";
import type { ServerSettings } from "../platform/limits/settings/server-settings.ts";
import type { ThreadCounts } from "../platform/limits/thread-counts.ts";
import type { TransportOptions } from "./transports.ts";

/** Parts by which clients are known. */
interface ClientParts {
  readonly proxies: TrustedProxies;
  /** Undefined = no caller needs a name. */
  readonly authentication: Authentication | undefined;
  /** Undefined = there is no page. */
  readonly pageToken?: PageToken | undefined;
  /** Connections of all threads that listen. Default: this one does alone. */
  readonly connections?: ThreadCounts;
  readonly log: Logger;
}

/** Reads from the settings, for the transports, who may use a server and how much of it. */
export function openClientAccess(
  { access, limits }: ServerSettings,
  { proxies, authentication, pageToken, connections, log }: ClientParts,
): Required<Pick<TransportOptions, "policy" | "accountKey" | "addressOf">> & { readonly connections: ConnectionLimit } {
  return {
    policy: new AccessPolicy({ ...access, authentication, proxies, pageToken }),
    connections: openConnectionLimit({ max: limits.maxConnections, proxies, counts: connections, log }),
    accountKey: readAccountKey(limits.clientKey, proxies),
    addressOf: proxies.clientAddress.bind(proxies),
  };
}
