import type { AuthenticationOptions } from "../../access/authentication/open-authentication.ts";
import type { Settings } from "../settings/settings.ts";

/** Settings of who may call, if there are any. */
export function toAuth(settings: Settings<"serve"> | Settings<"proxy">): { readonly auth?: AuthenticationOptions } {
  const { authUsers: users, authUsername: username, authPasswordFile: passwordFile } = settings;
  const { authTokens: tokens, authRules: rules } = settings;
  const { authJwks: jwks, authJwtIssuer: jwtIssuer, authJwtAudience: jwtAudience } = settings;
  const auth = { users, username, passwordFile, tokens, jwks, jwtIssuer, jwtAudience, rules };
  return Object.values(auth).every((value) => value === undefined) ? {} : { auth };
}
