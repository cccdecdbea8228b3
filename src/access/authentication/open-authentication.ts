import { invalidArgument } from "../../errors.ts";
import { AccessRules } from "../rules/access-rules.ts";
import type { TrustedProxies } from "../trusted-proxies.ts";
import { Authentication, type BearerCheck, type Refreshable } from "./authentication.ts";
import { findToken, openPassword, openTokens, openUsers, toUsers, type Users } from "./credential-files.ts";
import { openKeySet } from "./key-set.ts";
import { Passwords } from "./passwords.ts";
import { WatchedFile } from "./watched-file.ts";
import { createWebTokenCheck, type WebTokenRules } from "./web-tokens.ts";

/** Files that say who may call; without one of them that way is closed. */
export interface AuthenticationOptions {
  /** Names with hashes of passwords, as `kserving hash-password` writes them. */
  readonly users?: string | undefined;
  /** A single user's name, of the password in `passwordFile`. */
  readonly username?: string | undefined;
  /** A file with nothing but the single user's password. */
  readonly passwordFile?: string | undefined;
  /** The single user's password itself, instead of the file. */
  readonly password?: string | undefined;
  /** Names with hashes of tokens, as `kserving hash-token` writes them. */
  readonly tokens?: string | undefined;
  /** A JSON Web Key Set by which tokens are signed: a file, or an `https:` address. */
  readonly jwks?: string | undefined;
  /** The issuer (`iss`) of such tokens; needed with `jwks`. */
  readonly jwtIssuer?: string | undefined;
  /** The audience (`aud`) that this server is; needed with `jwks`. */
  readonly jwtAudience?: string | undefined;
  /** Rules of who may do what. Default: who is known may do everything. */
  readonly rules?: string | undefined;
}

/** The facts about a server's connections that matter here. */
interface Surroundings {
  readonly proxies: Pick<TrustedProxies, "clientAddress">;
  /** True if clients have certificates, which are names then. */
  readonly hasCertificates?: boolean;
}

/**
 * Reads what says who may call; throws `failed_precondition` for a file that does not
 * work, `invalid_argument` if a part is missing.
 */
export async function openAuthentication(
  options: AuthenticationOptions,
  { proxies, hasCertificates = false }: Surroundings,
): Promise<Authentication> {
  const users = await openAllUsers(options);
  const tokens = options.tokens === undefined ? undefined : await openTokens(options.tokens);
  const signed = await openWebTokens(options);
  const rules = options.rules === undefined ? undefined : await openRules(options.rules);
  if (users.length === 0 && !tokens && !signed && !hasCertificates) throw invalidArgument(NOBODY);
  const others: readonly (Refreshable | undefined)[] = [tokens, signed?.keys, rules];
  return new Authentication({
    passwords: users.length === 0 ? undefined : new Passwords(() => users.map(({ content }) => content)),
    bearers: [...(tokens ? [tokenCheck(tokens)] : []), ...(signed ? [createWebTokenCheck(signed)] : [])],
    hasCertificates,
    rules: () => rules?.content ?? KNOWN_MAY_ALL,
    sources: [...users, ...others.filter((source) => source !== undefined)],
    addressOf: (caller) => proxies.clientAddress(caller),
  });
}

const NOBODY =
  "There are rules, but callers have no way to show a name; give --auth-users, --auth-tokens or --auth-jwks too.";
const KNOWN_MAY_ALL = new AccessRules();

async function openAllUsers({ users, ...single }: AuthenticationOptions): Promise<UserSource[]> {
  return [...(users === undefined ? [] : [await openUsers(users)]), ...(await openSingleUser(single))];
}

/** Users, read again if they come from a file. */
type UserSource = Pick<WatchedFile<Users>, "path" | "content" | "refresh">;

async function openSingleUser({ username, passwordFile, password }: AuthenticationOptions): Promise<UserSource[]> {
  if ((username === undefined) !== (passwordFile === undefined && password === undefined))
    throw invalidArgument("--auth-username and --auth-password-file go together; one of them is missing.");
  if (username === undefined) return [];
  if (passwordFile !== undefined) return [await openPassword(username, passwordFile)];
  const content = await toUsers(username, password as string);
  return [{ path: "", content, refresh: async () => false }];
}

/**
 * A token for another audience, or of another issuer with the same keys, would be
 * taken if issuer and audience were left out.
 */
async function openWebTokens(options: AuthenticationOptions): Promise<WebTokenRules | undefined> {
  const { jwks, jwtIssuer: issuer, jwtAudience: audience } = options;
  if (jwks === undefined && issuer === undefined && audience === undefined) return undefined;
  if (jwks === undefined || issuer === undefined || audience === undefined)
    throw invalidArgument(
      "--auth-jwks, --auth-jwt-issuer and --auth-jwt-audience go together; one of them is missing.",
    );
  return { keys: await openKeySet(jwks), issuer, audience };
}

/** YAML is imported for those who have rules. */
async function openRules(path: string): Promise<WatchedFile<AccessRules>> {
  const [{ parseYaml }, { readRules }] = await Promise.all([
    import("../../tensor/codecs/config/yaml.ts"),
    import("../rules/read-rules.ts"),
  ]);
  const parse = (text: string, file: string) => readRules(parseYaml(text, file), file);
  return WatchedFile.open(path, { what: "file of rules", parse });
}

function tokenCheck(tokens: { readonly content: ReadonlyMap<string, Buffer> }): BearerCheck {
  return async (token) => {
    const name = findToken(tokens.content, token);
    if (name === undefined) return undefined;
    const hash = tokens.content.get(name) as Buffer;
    return { identity: { names: [`token:${name}`] }, holds: () => tokens.content.get(name)?.equals(hash) === true };
  };
}
