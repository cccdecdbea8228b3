import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { failedPrecondition, invalidArgument } from "../../errors.ts";
import { homeFolder } from "../../platform/machine/system.ts";
import { withoutEnd } from "../../platform/text/shorten.ts";
import { type Environment, firstOf, isOn } from "../environment.ts";

/** Place of a bucket. */
export interface S3Settings {
  readonly region: string;
  /** The server; undefined = Amazon's, by region. */
  readonly endpoint: URL | undefined;
  /** True if the bucket is in the path, not in the host. */
  readonly isPathStyle: boolean;
}

/** Bucket, key and perhaps the server of an address. */
export interface S3Location {
  readonly bucket: string;
  readonly key: string;
  readonly endpoint?: URL | undefined;
}

/**
 * Reads `s3://BUCKET/KEY`, and Triton's forms that name a server: `s3://HOST:PORT/BUCKET/KEY` and
 * `s3://https://HOST:PORT/BUCKET/KEY`.
 */
export function parseS3(address: string): S3Location {
  const rest = withoutEnd(address.slice("s3://".length), "/");
  const [, scheme, host, path] = /^(https?:\/\/)?([^/]+:\d+)\/(.*)$/s.exec(rest) ?? [];
  const endpoint = host === undefined ? undefined : new URL(`${scheme ?? "http://"}${host}`);
  const [bucket = "", ...key] = (path ?? rest).split("/");
  if (!/^[\w.-]{3,255}$/.test(bucket))
    throw invalidArgument(`${address.slice(0, 200)} has no bucket's name; expected s3://BUCKET/PATH.`);
  return { bucket, key: key.filter((part) => part !== "").join("/"), ...(endpoint && { endpoint }) };
}

/**
 * The server and region of buckets, by the variables of AWS's tools and of TensorFlow Serving (S3_ENDPOINT,
 * S3_USE_HTTPS). Servers other than Amazon's have buckets in the path, unless S3_FORCE_PATH_STYLE is false.
 */
export function toS3Settings(env: Environment, profile: SharedProfile, own: URL | undefined): S3Settings {
  const region = firstOf(env, "AWS_REGION", "AWS_DEFAULT_REGION") ?? profile.region ?? "us-east-1";
  const named = firstOf(env, "AWS_ENDPOINT_URL_S3", "S3_ENDPOINT", "AWS_ENDPOINT_URL") ?? profile.endpoint_url;
  const endpoint = own ?? (named === undefined ? undefined : toUrl(named, env));
  const style = firstOf(env, "S3_FORCE_PATH_STYLE", "AWS_S3_FORCE_PATH_STYLE");
  const isAmazon = endpoint === undefined || endpoint.hostname.endsWith(".amazonaws.com");
  return { region, endpoint, isPathStyle: style === undefined ? !isAmazon : isOn(style) };
}

/** TensorFlow Serving's has no scheme. */
function toUrl(text: string, env: Environment): URL {
  const isPlain = /^(?:0|false|no|off)$/i.test(env.S3_USE_HTTPS ?? "");
  const url = /^https?:\/\//i.test(text) ? text : `${isPlain ? "http" : "https"}://${text}`;
  if (!URL.canParse(url)) throw invalidArgument(`The endpoint of S3 is "${text}"; expected https://HOST or HOST:PORT.`);
  return new URL(url);
}

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

/** Sections by name; empty if the file cannot be read. */
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
