import { invalidArgument } from "../../errors.ts";
import { AccessRules } from "../rules/access-rules.ts";
import type { TrustedProxies } from "../trusted-proxies.ts";
import { Authentication, type BearerCheck, type Refreshable } from "./authentication.ts";
import { Passwords } from "./passwords.ts";
import { findToken, openTokens } from "./tokens.ts";
import { openPassword, openUsers, type Users } from "./user-files.ts";
import { WatchedFile } from "./watched-file.ts";

/** Files that say who may call; without one of them nobody may in that way. */
export interface AuthenticationOptions {
  /** Names with hashes of passwords, as `kserving hash-password` writes them. */
  readonly users?: string | undefined;
  /** A single user's name, of the password in `passwordFile`. */
  readonly username?: string | undefined;
  /** A file with nothing but the single user's password. */
  readonly passwordFile?: string | undefined;
  /** Names with hashes of tokens, as `kserving hash-token` writes them. */
  readonly tokens?: string | undefined;
  /** Rules of who may do what. Default: who is known may do everything. */
  readonly rules?: string | undefined;
}

/** Reads what says who may call, and from which addresses as proxies tell; throws `failed_precondition` for a file that does not work, `invalid_argument` where a part is missing. */
export async function openAuthentication(
  options: AuthenticationOptions,
  proxies: Pick<TrustedProxies, "clientAddress">,
): Promise<Authentication> {
  const users = await openAllUsers(options);
  const tokens = options.tokens === undefined ? undefined : await openTokens(options.tokens);
  const rules = options.rules === undefined ? undefined : await openRules(options.rules);
  if (users.length === 0 && tokens === undefined) throw invalidArgument(NOBODY);
  const sources: Refreshable[] = [...users, ...(tokens ? [tokens] : []), ...(rules ? [rules] : [])];
  const bearers = tokens === undefined ? [] : [tokenCheck(tokens)];
  const passwords = users.length === 0 ? undefined : new Passwords(() => users.map(({ content }) => content));
  return new Authentication({
    passwords,
    bearers,
    rules: () => rules?.content ?? KNOWN_MAY_ALL,
    sources,
    addressOf: (caller) => proxies.clientAddress(caller),
  });
}

const NOBODY = "There are rules, but nobody who could show a name; give --auth-users or --auth-tokens too.";
const KNOWN_MAY_ALL = new AccessRules();

async function openAllUsers({ users, username, passwordFile }: AuthenticationOptions): Promise<WatchedFile<Users>[]> {
  if ((username === undefined) !== (passwordFile === undefined))
    throw invalidArgument("--auth-username and --auth-password-file go together; one of them is missing.");
  const single = username === undefined ? [] : [await openPassword(username, passwordFile as string)];
  return [...(users === undefined ? [] : [await openUsers(users)]), ...single];
}

/** YAML is imported for those who have rules. */
async function openRules(path: string): Promise<WatchedFile<AccessRules>> {
  const [{ parseYaml }, { readRules }] = await Promise.all([
    import("../../codecs/config/parse-yaml.ts"),
    import("../rules/read-rules.ts"),
  ]);
  return WatchedFile.open(path, {
    what: "file of rules",
    parse: (text, file) => readRules(parseYaml(text, file), file),
  });
}

function tokenCheck(tokens: { readonly content: ReadonlyMap<string, Buffer> }): BearerCheck {
  return async (token) => {
    const name = findToken(tokens.content, token);
    return name === undefined ? undefined : { identity: { names: [`token:${name}`] } };
  };
}
