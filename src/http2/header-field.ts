/** Bytes that a field counts in tables and lists besides its name and value (RFC 7541 §4.1, RFC 9113 §6.5.2). */
const OVERHEAD_BYTES = 32;
/** Lower case, as HTTP/2 has it; a colon may only begin a name (RFC 9113 §8.2.1). */
const LEGAL_NAME = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const ILLEGAL_VALUE = /[\x00\n\r\u0100-\uffff]|^[ \t]|[ \t]$/;

/** One field of a header list, in latin1: a character is a byte. One object stands for all uses of a table's entry. */
export class HeaderField {
  readonly name: string;
  readonly value: string;
  /** Bytes as tables and lists count them. */
  readonly size: number;
  /** False for characters that HTTP/2 forbids (RFC 9113 §8.2.1), which make a message malformed. */
  readonly isLegal: boolean;
  /** True if no table may ever have it, since its value is secret (RFC 7541 §7.1.3). */
  readonly isNeverIndexed: boolean;

  constructor(name: string, value: string, isNeverIndexed = false) {
    this.name = name;
    this.value = value;
    this.size = name.length + value.length + OVERHEAD_BYTES;
    this.isLegal = isLegalField(name, value);
    this.isNeverIndexed = isNeverIndexed;
  }
}

/** Checks a field's characters (RFC 9113 §8.2.1), each of which is a byte. */
export function isLegalField(name: string, value: string): boolean {
  return LEGAL_NAME.test(name) && !ILLEGAL_VALUE.test(value);
}

/** The static table's names in order, each with its values where it has some (RFC 7541, appendix A). */
const ENTRIES = `:authority
:method GET|POST
:path /|/index.html
:scheme http|https
:status 200|204|206|304|400|404|500
accept-charset
accept-encoding gzip, deflate
accept-language
accept-ranges
accept
access-control-allow-origin
age
allow
authorization
cache-control
content-disposition
content-encoding
content-language
content-length
content-location
content-range
content-type
cookie
date
etag
expect
expires
from
host
if-match
if-modified-since
if-none-match
if-range
if-unmodified-since
last-modified
link
location
max-forwards
proxy-authenticate
proxy-authorization
range
referer
refresh
retry-after
server
set-cookie
strict-transport-security
transfer-encoding
user-agent
vary
via
www-authenticate`;

/** The static table; its first entry has the index 1. */
export const STATIC_TABLE: readonly HeaderField[] = ENTRIES.split("\n").flatMap((entry) => {
  const [, name = "", values = ""] = /^(\S+) ?(.*)$/.exec(entry) ?? [];
  return values.split("|").map((value) => new HeaderField(name, value));
});
