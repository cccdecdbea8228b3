import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { failedPrecondition, invalidArgument, reasonText, ServingError } from "../../errors.ts";
import { homeFolder } from "../../platform/machine/system.ts";
import { withoutEnd } from "../../platform/text/shorten.ts";
import { type Environment, firstOf, isOn } from "../environment.ts";
import { type Expiring, ofMachine } from "../http/access-token.ts";
import { readBody, readJson, statusError } from "../http/answers.ts";
import { httpRequest } from "../http/http-request.ts";
import { isPrivateHost } from "../http/private-address.ts";
import type { S3Key } from "./sign-v4.ts";

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

/** A key with the time of its end; without a key, requests are anonymous. */
export interface S3Credentials extends Expiring {
  readonly key?: S3Key;
}

/** A machine's own service answers at once or is not there. */
const LOCAL_MS = 1000;
const METADATA = "http://169.254.169.254";
const ACCESS = "Check the role, and its trust in this identity";

/**
 * The credentials that AWS's own tools would use, in their order: environment variables, a web identity (as EKS has),
 * the shared files, a container's or a machine's role; otherwise none, for public buckets.
 */
export async function findS3Credentials(env: Environment, profile: SharedProfile): Promise<S3Credentials> {
  if (isOn(firstOf(env, "AWS_NO_SIGN_REQUEST", "awsAnonymousCredential"))) return {};
  const named = firstOf(env, "AWS_PROFILE") !== undefined;
  const ofEnvironment = toKey(env.AWS_ACCESS_KEY_ID, env.AWS_SECRET_ACCESS_KEY, env.AWS_SESSION_TOKEN);
  if (ofEnvironment !== undefined) return ofEnvironment;
  if (!named && firstOf(env, "AWS_WEB_IDENTITY_TOKEN_FILE") !== undefined) return fromWebIdentity(env, {});
  const ofProfile = toKey(profile.aws_access_key_id, profile.aws_secret_access_key, profile.aws_session_token);
  if (ofProfile !== undefined) return ofProfile;
  if (profile.web_identity_token_file !== undefined) return fromWebIdentity(env, profile);
  const other = ["sso_session", "sso_start_url", "credential_process", "source_profile"].find(
    (name) => name in profile,
  );
  if (other !== undefined)
    throw failedPrecondition(
      `the profile of AWS_PROFILE has ${other}, which is not supported. Pass keys: eval "$(aws configure export-credentials --format env)"`,
    );
  const container = firstOf(env, "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  if (container !== undefined) return fromContainer(env);
  return isOn(env.AWS_EC2_METADATA_DISABLED) ? {} : ofMachine(() => fromMachine(env));
}

function toKey(
  id: string | undefined,
  secret: string | undefined,
  token: string | undefined,
): S3Credentials | undefined {
  if (!id || !secret) return undefined;
  return { key: { accessKeyId: id, secretAccessKey: secret, sessionToken: token || undefined } };
}

/** https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html */
async function fromWebIdentity(env: Environment, profile: SharedProfile): Promise<S3Credentials> {
  const file = firstOf(env, "AWS_WEB_IDENTITY_TOKEN_FILE") ?? profile.web_identity_token_file ?? "";
  const role = firstOf(env, "AWS_ROLE_ARN") ?? profile.role_arn;
  if (role === undefined)
    throw failedPrecondition("AWS_WEB_IDENTITY_TOKEN_FILE is set without AWS_ROLE_ARN; expected both");
  const token = await readFile(file, "utf8").catch((cause) => {
    throw failedPrecondition(
      `the file of AWS_WEB_IDENTITY_TOKEN_FILE cannot be read: ${reasonText(cause).split(",", 1)[0]}`,
      cause,
    );
  });
  const region = firstOf(env, "AWS_REGION", "AWS_DEFAULT_REGION") ?? profile.region ?? "us-east-1";
  const url = new URL(firstOf(env, "AWS_ENDPOINT_URL_STS") ?? `https://sts.${region}.amazonaws.com`);
  const body = new URLSearchParams({
    Action: "AssumeRoleWithWebIdentity",
    Version: "2011-06-15",
    RoleArn: role,
    RoleSessionName: firstOf(env, "AWS_ROLE_SESSION_NAME") ?? "kserving",
    WebIdentityToken: token.trim(),
  }).toString();
  const headers = {
    "content-type": "application/x-www-form-urlencoded",
    "content-length": String(Buffer.byteLength(body)),
  };
  const response = await httpRequest(url, { method: "POST", headers, body, signal: AbortSignal.timeout(30_000) });
  if (response.statusCode !== 200) throw await statusError(response, ACCESS);
  const xml = await readBody(response);
  const text = (name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? "";
  const key = {
    accessKeyId: text("AccessKeyId"),
    secretAccessKey: text("SecretAccessKey"),
    sessionToken: text("SessionToken"),
  };
  return { key, expiresMs: Date.parse(text("Expiration")) };
}

/** https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html */
async function fromContainer(env: Environment): Promise<S3Credentials> {
  const url = new URL(
    firstOf(env, "AWS_CONTAINER_CREDENTIALS_FULL_URI") ??
      `http://169.254.170.2${env.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI}`,
  );
  if (url.protocol !== "https:" && !isPrivateHost(url.hostname))
    throw failedPrecondition("AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https:// nor an address of this machine");
  const file = firstOf(env, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  const token = file === undefined ? env.AWS_CONTAINER_AUTHORIZATION_TOKEN : (await readFile(file, "utf8")).trim();
  return readRole(url, token ? { authorization: token } : {});
}

/** https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html, version 2 */
async function fromMachine(env: Environment): Promise<S3Credentials> {
  const base = firstOf(env, "AWS_EC2_METADATA_SERVICE_ENDPOINT") ?? METADATA;
  const signal = AbortSignal.timeout(5 * LOCAL_MS);
  const seconds = { "x-aws-ec2-metadata-token-ttl-seconds": "21600", "content-length": "0" };
  const asked = await httpRequest(new URL("/latest/api/token", base), {
    method: "PUT",
    headers: seconds,
    signal,
    headMs: LOCAL_MS,
  });
  const headers = { "x-aws-ec2-metadata-token": await readBody(asked, 4096) };
  const roles = new URL("/latest/meta-data/iam/security-credentials/", base);
  const listed = await httpRequest(roles, { headers, signal, headMs: LOCAL_MS });
  if (listed.statusCode !== 200) throw await statusError(listed, ACCESS);
  const [role = ""] = (await readBody(listed, 4096)).split("\n");
  return readRole(new URL(role.trim(), roles), headers);
}

async function readRole(url: URL, headers: Readonly<Record<string, string>>): Promise<S3Credentials> {
  const response = await httpRequest(url, { headers, signal: AbortSignal.timeout(10_000) });
  if (response.statusCode !== 200) throw await statusError(response, ACCESS);
  const { AccessKeyId, SecretAccessKey, Token, Expiration } = (await readJson(response)) as Record<string, string>;
  const found = toKey(AccessKeyId, SecretAccessKey, Token);
  if (found === undefined) throw new ServingError("unavailable", "the role's credentials are not in the answer");
  return { ...found, expiresMs: Date.parse(Expiration ?? "") };
}
