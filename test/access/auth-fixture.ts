import { createToken, hashToken } from "../../src/access/authentication/credential-files.ts";
import { hashPassword } from "../../src/access/authentication/password-hash.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

/** A hash that costs nothing to check. */
export const CHEAP = { logN: 4, r: 8, p: 1 };
/** Tokens by the names that they have in the files of {@link authFiles}. */
export const TOKENS = { user: createToken(), admin: createToken(), team: createToken() } as const;

/** `Authorization` of a user with a password. */
export function basic(name: string, password: string): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`;
}

/** `Authorization` with a token. */
export function bearer(token: string): string {
  return `Bearer ${token}`;
}

const RULES = `
allow:
  - { who: [alice, "token:user"], kinds: [infer, read], models: default }
  - { who: "token:team", kinds: [infer, read, control], models: [team-*, own] }
  - { who: [root, "token:admin"], kinds: [infer, read, control, metrics] }
`;

/** Files of the users alice and root, whose passwords are "open sesame" and "toor", of {@link TOKENS}, and of rules. */
export async function authFiles(rules = RULES): Promise<Record<"users" | "tokens" | "rules", string>> {
  const users = `alice:${await hashPassword("open sesame", CHEAP)}\nroot:${await hashPassword("toor", CHEAP)}\n`;
  const tokens = Object.entries(TOKENS).map(([name, token]) => `${name}:${hashToken(token)}\n`);
  const folder = tempFolder({ "users.txt": users, "tokens.txt": tokens.join(""), "rules.yaml": rules });
  return { users: `${folder}/users.txt`, tokens: `${folder}/tokens.txt`, rules: `${folder}/rules.yaml` };
}
