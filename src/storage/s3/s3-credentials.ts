import { readFile } from "node:fs/promises";
import { failedPrecondition, reasonText, ServingError } from "../../errors.ts";
import { type Environment, firstOf, isOn } from "../environment.ts";
import { type Expiring, ofMachine } from "../http/access-token.ts";
import { readBody, readJson, statusError } from "../http/answers.ts";
import { isPrivateHost } from "../http/follow-redirects.ts";
import { httpRequest } from "../http/http-request.ts";
import type { SharedProfile } from "./s3-settings.ts";
import type { S3Key } from "./sign-v4.ts";

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
