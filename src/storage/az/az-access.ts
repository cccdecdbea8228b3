import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { failedPrecondition } from "../../errors.ts";
import { type Environment, firstOf, isOn } from "../environment.ts";
import { type Expiring, ofMachine, postForm, readToken } from "../http/access-token.ts";
import { readJson, statusError } from "../http/answers.ts";
import { httpRequest } from "../http/http-request.ts";
import { type AzLocation, connectionOf } from "./az-location.ts";

/** One of the ways in which Azure's storage is told who asks; with none, requests are anonymous. */
export interface AzAccess extends Expiring {
  /** In base64. */
  readonly accountKey?: string | undefined;
  /** A shared access signature, as a query without a question mark. */
  readonly signature?: string | undefined;
  readonly token?: string;
}

const VERSION = "2021-12-02";
const ACCESS = "Check AZURE_TENANT_ID, AZURE_CLIENT_ID and its secret or federated token";
const SCOPE = "https://storage.azure.com/.default";
/** Time within which a machine's own service answers, in milliseconds. */
const LOCAL_MS = 1000;

/**
 * Finds what gives access to an account: a signature in the address, the connection string, a key or signature in the
 * environment, a workload's or application's identity, the machine's; otherwise nothing, for public containers.
 */
export async function findAzAccess({ signature }: Pick<AzLocation, "signature">, env: Environment): Promise<AzAccess> {
  if (signature !== undefined) return { signature };
  const { AccountKey, SharedAccessSignature } = connectionOf(env);
  const accountKey =
    AccountKey ?? firstOf(env, "AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY");
  if (accountKey !== undefined) return { accountKey };
  const shared = SharedAccessSignature ?? firstOf(env, "AZURE_STORAGE_SAS_TOKEN");
  if (shared !== undefined) return { signature: shared.replace(/^\?/, "") };
  const tenant = firstOf(env, "AZURE_TENANT_ID", "AZ_TENANT_ID");
  const client = firstOf(env, "AZURE_CLIENT_ID", "AZ_CLIENT_ID");
  if (tenant !== undefined && client !== undefined) return ofApplication(env, { tenant, client });
  if (isOn(env.AZURE_STORAGE_ANONYMOUS)) return {};
  return ofMachine(() => fromMachine(env, client));
}

interface Application {
  readonly tenant: string;
  readonly client: string;
}

/** https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow */
async function ofApplication(env: Environment, { tenant, client }: Application): Promise<AzAccess> {
  const authority = firstOf(env, "AZURE_AUTHORITY_HOST") ?? "https://login.microsoftonline.com";
  const file = firstOf(env, "AZURE_FEDERATED_TOKEN_FILE");
  const secret = firstOf(env, "AZURE_CLIENT_SECRET", "AZ_CLIENT_SECRET");
  if (secret === undefined && file === undefined)
    throw failedPrecondition(
      "AZURE_CLIENT_ID is set without AZURE_CLIENT_SECRET and AZURE_FEDERATED_TOKEN_FILE; expected one of them",
    );
  const proof: Record<string, string> =
    secret !== undefined
      ? { client_secret: secret }
      : {
          client_assertion: (await readFile(file as string, "utf8")).trim(),
          client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        };
  const url = new URL(`${authority.replace(/\/$/, "")}/${tenant}/oauth2/v2.0/token`);
  return readToken(
    await postForm(url, { grant_type: "client_credentials", client_id: client, scope: SCOPE, ...proof }, ACCESS),
  );
}

/** https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token */
async function fromMachine(env: Environment, client: string | undefined): Promise<AzAccess> {
  const host = firstOf(env, "AZURE_POD_IDENTITY_AUTHORITY_HOST") ?? "http://169.254.169.254";
  const url = new URL(
    "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fstorage.azure.com%2F",
    host,
  );
  if (client !== undefined) url.searchParams.set("client_id", client);
  const signal = AbortSignal.timeout(5 * LOCAL_MS);
  const response = await httpRequest(url, { headers: { metadata: "true" }, signal, headMs: LOCAL_MS });
  if (response.statusCode !== 200) throw await statusError(response, ACCESS);
  return readToken((await readJson(response)) as Record<string, unknown>);
}

/** A request to be sent with access. */
export interface AzRequest {
  readonly method: "GET" | "HEAD" | "PUT";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly account: string;
}

/**
 * Adds to a request what gives access: a signature to its URL, or headers. Shared keys sign as
 * https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key describes it.
 */
export function withAccess({ method, url, headers, account }: AzRequest, access: AzAccess): Record<string, string> {
  const own: Record<string, string> = { ...headers, "x-ms-date": new Date().toUTCString(), "x-ms-version": VERSION };
  if (access.token !== undefined) return { ...own, authorization: `Bearer ${access.token}` };
  if (access.signature !== undefined) url.search = [url.search.slice(1), access.signature].filter(Boolean).join("&");
  if (access.accountKey === undefined) return own;
  const lines = Object.entries(own)
    .filter(([name]) => name.startsWith("x-ms-"))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}:${value}`);
  const query = [...url.searchParams].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => `${name}:${value}`);
  const resource = [`/${account}${url.pathname}`, ...query];
  // The values of eleven usual headers, of which these are sent.
  const usual = ["", "", own["content-length"] ?? "", "", "", "", "", own["if-match"] ?? "", "", "", own.range ?? ""];
  const text = [method, ...usual, ...lines, ...resource].join("\n");
  const digest = createHmac("sha256", Buffer.from(access.accountKey, "base64")).update(text).digest("base64");
  return { ...own, authorization: `SharedKey ${account}:${digest}` };
}
