import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { failedPrecondition } from "../../errors.ts";
import { homeFolder } from "../../machine/home-folder.ts";
import { type Environment, firstOf } from "../environment.ts";

/** Keys and values of one profile. */
export type SharedProfile = Readonly<Record<string, string>>;

/**
 * The profile of AWS_PROFILE (default: `default`) in the files that the AWS command
 * line shares: credentials, and config, whose sections are called `profile NAME`.
 * Throws `failed_precondition` for a profile that is named and in neither.
 */
export async function readSharedProfile(env: Environment): Promise<SharedProfile> {
  const name = firstOf(env, "AWS_PROFILE", "AWS_DEFAULT_PROFILE");
  const folder = join(homeFolder(), ".aws");
  const config = await readIni(firstOf(env, "AWS_CONFIG_FILE") ?? join(folder, "config"));
  const credentials = await readIni(firstOf(env, "AWS_SHARED_CREDENTIALS_FILE") ?? join(folder, "credentials"));
  const wanted = name ?? "default";
  const found = [config.get(`profile ${wanted}`) ?? config.get(wanted), credentials.get(wanted)];
  if (name !== undefined && found.every((section) => section === undefined))
    throw failedPrecondition(
      `AWS_PROFILE is "${name}", which is neither in the credentials file of AWS nor in its config`,
    );
  return { ...found[0], ...found[1] };
}

/** Sections by name; empty where the file cannot be read. */
async function readIni(path: string): Promise<Map<string, Record<string, string>>> {
  const text = await readFile(path, "utf8").catch(() => "");
  const sections = new Map<string, Record<string, string>>();
  let section: Record<string, string> = {};
  for (const line of text.split(/\r?\n/)) {
    const [, title] = /^\s*\[\s*([^\]]+?)\s*\]/.exec(line) ?? [];
    const [, key, value] = /^([\w.-]+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (title !== undefined) {
      section = {};
      sections.set(title, section);
    } else if (key !== undefined && value !== undefined) section[key.toLowerCase()] = value;
  }
  return sections;
}
