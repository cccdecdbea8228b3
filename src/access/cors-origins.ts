import { invalidArgument } from "../errors.ts";

/** Origins whose web pages may run models. */
export class CorsOrigins {
  readonly #isAny: boolean;
  readonly #origins: ReadonlySet<string>;

  /** `*`, `null` or `SCHEME://HOST[:PORT]`; throws `invalid_argument` for anything else. */
  constructor(origins: readonly string[]) {
    for (const origin of origins) assertOrigin(origin);
    this.#isAny = origins.includes("*");
    this.#origins = new Set(origins.map((origin) => origin.toLowerCase()));
  }

  /** True where an answer may depend on the origin of the page that asks. */
  get isSome(): boolean {
    return this.#origins.size > 0;
  }

  /** Value of `Access-Control-Allow-Origin` for pages of an origin; undefined where they have no permission. */
  allowed(origin: string): string | undefined {
    if (this.#isAny) return "*";
    return this.#origins.has(origin.toLowerCase()) ? origin : undefined;
  }
}

function assertOrigin(text: string): void {
  if (text === "*" || text === "null") return;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // An origin as browsers send it has no path, and no port that is its scheme's own.
  if (url !== undefined && text.toLowerCase() === `${url.protocol}//${url.host}`) return;
  throw invalidArgument(
    `The origin "${text}" (--cors-origin) is not one that browsers send; expected * or SCHEME://HOST[:PORT], for example https://app.example.com.`,
  );
}
