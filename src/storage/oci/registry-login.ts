import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { failedPrecondition } from "../../errors.ts";
import { homeFolder } from "../../machine/home-folder.ts";
import { type Environment, firstOf } from "../environment.ts";

/** Logins as Docker and podman keep them. */
interface LoginFile {
  readonly auths?: Readonly<
    Record<string, { readonly auth?: string; readonly username?: string; readonly password?: string }>
  >;
  readonly credsStore?: string;
  readonly credHelpers?: Readonly<Record<string, string>>;
}

/**
 * Finds `USER:PASSWORD` for a registry: in the file of REGISTRY_AUTH_FILE, else in the config.json of DOCKER_CONFIG or
 * of this user. Throws `failed_precondition` where a program keeps it.
 */
export async function findLogin(registry: string, env: Environment): Promise<string | undefined> {
  const folder = firstOf(env, "DOCKER_CONFIG") ?? join(homeFolder(), ".docker");
  const text = await readFile(firstOf(env, "REGISTRY_AUTH_FILE") ?? join(folder, "config.json"), "utf8").catch(
    () => "{}",
  );
  const { auths = {}, credHelpers = {}, credsStore } = parse(text);
  const names = registry === "docker.io" ? [registry, "index.docker.io"] : [registry];
  const [, found] = Object.entries(auths).find(([name]) => names.includes(hostOf(name))) ?? [];
  if (found?.auth) return Buffer.from(found.auth, "base64").toString("utf8");
  if (found?.username) return `${found.username}:${found.password ?? ""}`;
  if (credHelpers[registry] === undefined && (credsStore === undefined || found === undefined)) return undefined;
  throw failedPrecondition(
    `the login of ${registry} is kept by a program of Docker's, which is not run here. Write it to a file: oras login --registry-config FILE, and set REGISTRY_AUTH_FILE`,
  );
}

function hostOf(name: string): string {
  return name.replace(/^https?:\/\//, "").replace(/\/.*$/, "");
}

function parse(text: string): LoginFile {
  try {
    return (JSON.parse(text) ?? {}) as LoginFile;
  } catch {
    throw failedPrecondition(
      "the file with the logins of registries is not JSON. Check REGISTRY_AUTH_FILE or DOCKER_CONFIG",
    );
  }
}
