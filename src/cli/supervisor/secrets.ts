import type { Variables } from "../../platform/machine/start-secrets.ts";
import { isSecretName, MASK, maskSecrets } from "../../platform/text/mask-secrets.ts";

/** Variables that the server reads for itself, and that are secrets. */
export const SECRET_VARIABLES: readonly string[] = [
  ...["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN"],
  ...["AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_SAS_TOKEN"],
  ...["AZURE_STORAGE_CONNECTION_STRING", "AZURE_CLIENT_SECRET", "AZ_CLIENT_SECRET"],
  ...["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"],
  ...["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "STFS_AUTH_PASSWORD"],
];

/** Names of other variables that the server reads, whose values may have a secret in them, as an address may. */
const READ = new RegExp(
  `^(?:${[
    ...["KSERVING_", "STFS_", "OTEL_", "MODEL_", "HF_ENDPOINT", "S3_ENDPOINT"],
    ...["AWS_ENDPOINT_URL", "AWS_CONTAINER_CREDENTIALS_", "AWS_EC2_METADATA_"],
    ...["AZURE_STORAGE_", "AZURE_AUTHORITY_", "AZURE_POD_IDENTITY_"],
    ...["STORAGE_EMULATOR_", "CLOUDSDK_API_ENDPOINT_", "GCE_METADATA_"],
  ].join("|")})`,
);

/** The words of a command line, and the variables that are secrets. */
export interface StartSecrets {
  readonly argv: readonly string[];
  readonly variables: Variables;
}

/** Takes the variables that are secrets out of an environment. */
export function takeSecrets(env: NodeJS.ProcessEnv): Variables {
  const names = Object.keys(env).filter((name) => isSecret(name, env[name] ?? ""));
  const variables = Object.fromEntries(names.map((name) => [name, env[name]]));
  for (const name of names) delete env[name];
  return variables;
}

function isSecret(name: string, text: string): boolean {
  return SECRET_VARIABLES.includes(name) || (READ.test(name) && hideWord(text) !== text);
}

/** The words of a command line, with `***` for the secrets among them. */
export function hideWords(words: readonly string[]): readonly string[] {
  return words.map((word, index) => (PASSWORD_FLAG.test(words[index - 1] ?? "") ? MASK : hideWord(word)));
}

/** A flag whose value, and no file's name, is the next word. */
const PASSWORD_FLAG = /^--?[\w-]*passw(?:or)?d$/i;

/** Also of words in a row, as in KSERVING_OPTION. */
function hideWord(word: string): string {
  const [, before = "", name = "", value = ""] = /^((?:--?|\d+:)?)([\w.-]+)=(.*)$/s.exec(word) ?? [];
  if (name === "") return maskSecrets(word);
  return `${before}${name}=${isSecretName(name) ? MASK : hideWord(value)}`;
}
