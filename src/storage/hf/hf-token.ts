import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { homeFolder } from "../../machine/home-folder.ts";
import { type Environment, firstOf, isOn } from "../environment.ts";
import type { Expiring } from "../expiring.ts";

/** A token for the hub; without one, requests are anonymous. */
export interface HfToken extends Expiring {
  readonly token?: string;
}

/** Time after which the file is read again, in milliseconds: it may have been replaced. */
const FILE_MS = 900_000;

/**
 * Finds the token as the hub's own programs do: HF_TOKEN, then the file that a login has written
 * (https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables).
 */
export async function findHfToken(env: Environment): Promise<HfToken> {
  const token = firstOf(env, "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN");
  if (token !== undefined) return { token: token.trim() };
  const expiresMs = Date.now() + FILE_MS;
  if (isOn(env.HF_HUB_DISABLE_IMPLICIT_TOKEN)) return { expiresMs };
  const home =
    firstOf(env, "HF_HOME") ?? join(firstOf(env, "XDG_CACHE_HOME") ?? join(homeFolder(), ".cache"), "huggingface");
  const text = await readFile(firstOf(env, "HF_TOKEN_PATH") ?? join(home, "token"), "utf8").catch(() => "");
  return text.trim() === "" ? { expiresMs } : { token: text.trim(), expiresMs };
}
