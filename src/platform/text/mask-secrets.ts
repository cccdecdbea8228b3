/** Replacement of a secret. */
export const MASK = "***";
/** Words that mark a name that ends with them as a secret's, and words that make a key one. */
const SECRET_WORDS =
  "passw(?:or)?d|passwd|pwd|passphrase|secret|token|signature|credentials?|authorization|(?:api|access|secret|private|account|signing|encryption|auth|license)[_-]?key(?:[_-]?id)?";
/** The beginning of a name, of bounded length so that a long text takes time in proportion. */
const NAME_START = String.raw`(?<![\w.-])[\w.-]{0,64}`;
const VALUE = String.raw`[^&\s"'\`<>|,;()\\]+`;

/** `scheme://user:password@`, also if the password has an `@` or is missing. */
const URL_USER = /(\b[a-z][a-z0-9+.-]{0,31}:\/\/)[^\s"'`<>\\/?#]{1,1024}@/gi;
/** `name=value` in URLs and options. */
const ASSIGNMENT = new RegExp(`(${NAME_START}(?:${SECRET_WORDS})=)(?:(?:bearer|basic) )?${VALUE}`, "gi");
/** Short names that are secrets in URLs alone. */
const QUERY = new RegExp(`([?&](?:key|sig|auth|code)=)${VALUE}`, "gi");
const BEARER = /\b(bearer|basic) [\w.~+/=-]{16,}/gi;
const MEMBER_NAME = String.raw`[\w.-]{0,64}(?:${SECRET_WORDS}|cookie)`;
/** Members of JSON whose text is a secret. */
const MEMBER = new RegExp(String.raw`("${MEMBER_NAME}":\s?)"(?:[^"\\]|\\.)*"`, "gi");
/** The same within a text of JSON, if all quotes are escaped: a mix would take the text's own end for one. */
const INNER_MEMBER = new RegExp(String.raw`(\\"${MEMBER_NAME}\\":\s?)\\"[^"\\]*\\"`, "gi");
/** Something of which each of these has at least one: most texts have none of them. */
const LIKELY = /:\/\/|[=]|pass|pwd|secret|token|key|bearer|basic|credential|authorization|cookie|signature/i;

/**
 * A text in which secrets are replaced by `***`: users and passwords in URLs, values whose names say password, secret,
 * token or key, in URLs, options and JSON, and bearer tokens. JSON stays JSON. Takes time in proportion to the text.
 */
export function maskSecrets(text: string): string {
  if (!LIKELY.test(text)) return text;
  return text
    .replace(URL_USER, `$1${MASK}@`)
    .replace(ASSIGNMENT, `$1${MASK}`)
    .replace(QUERY, `$1${MASK}`)
    .replace(BEARER, `$1 ${MASK}`)
    .replace(MEMBER, `$1"${MASK}"`)
    .replace(INNER_MEMBER, `$1\\"${MASK}\\"`);
}

const SECRET_NAME = new RegExp(`(?:${SECRET_WORDS}|(?:^|[_.-])key)$`, "i");

/** Checks if what has this name is a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** The value of an option for output: `***` if the option's name is a secret's. */
export function maskOption(name: string, value: string): string {
  return isSecretName(name) ? MASK : maskSecrets(value);
}
